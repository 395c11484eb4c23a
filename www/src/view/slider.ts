/** A slider with its label and the words of its value. */
import { el } from "../dom.ts";

/** A slider over given positions. */
export interface Slider {
  element: HTMLElement;
  /** Shows a value, or that there is none to choose here and why. Positions end at `max`. */
  set(value: number, is_enabled: boolean, reason: string, max?: number): void;
}

/** `words` tell a value, `change` is called with the one that was moved to. */
export function slider(id: string, label: string, values: readonly number[], words: (value: number) => string, change: (value: number) => void): Slider {
  const shown = el("output", { for: id });
  const note = el("span", { class: "sr-only", id: `${id}-note` });
  let positions: readonly number[] = values;
  const input = el("input", {
    id,
    type: "range",
    min: 0,
    max: values.length - 1,
    step: 1,
    "aria-describedby": `${id}-note`,
    oninput: () => {
      const value = positions[input.valueAsNumber];
      say(value);
      change(value);
    },
  });
  const say = (value: number): void => {
    shown.textContent = words(value);
    input.setAttribute("aria-valuetext", words(value));
  };
  const element = el("div", { class: "slider" }, el("label", { for: id }, label), shown, input, note);
  const set = (value: number, is_enabled: boolean, reason: string, max = Infinity): void => {
    // The value that is shown is one of the positions, whatever it is.
    positions = [...new Set([...values.filter((position) => position <= max), value])].sort((a, b) => a - b);
    input.max = String(positions.length - 1);
    input.value = String(positions.indexOf(value));
    input.disabled = !is_enabled;
    element.title = is_enabled ? "" : `Not here: ${reason}`;
    note.textContent = is_enabled ? "" : reason;
    if (is_enabled) say(value);
    else shown.textContent = "not here";
  };
  return { element, set };
}
