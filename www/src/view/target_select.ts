/** A list of targets in groups, in which typing finds a chip, a core, a board or an id wherever it stands in a name. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type TargetOption, matchesTyped } from "../target_names.ts";

/** A list of targets, to which more can be added. */
export interface TargetSelect {
  element: HTMLElement;
  select: HTMLSelectElement;
  add(options: readonly TargetOption[]): void;
}

/** Letters that are typed within this time are one word. */
const TYPING_MS = 1000;

/** A list of targets by family, and a field that shows those with the words that are typed. */
export function targetSelect(id: string, label: string, chosen: string, choose: (target: string) => void): TargetSelect {
  const options: TargetOption[] = [];
  const select = el("select", { id, onchange: () => choose(select.value) });
  const status = el("span", { class: "sr-only", role: "status" });
  const find = el("input", { id: `${id}-find`, type: "search", placeholder: "Find: STM32H7", "aria-label": `Find in ${label.toLowerCase()}`, "aria-controls": id, autocomplete: "off", oninput: () => filter() });
  const matching = (): TargetOption[] => options.filter((option) => matchesTyped(option, find.value));
  const families = new Map<string, HTMLElement>();
  const append = (shown: readonly TargetOption[], value: string): void => {
    for (const { family, target, words } of shown) {
      const group = families.get(family) ?? el("optgroup", { label: family });
      if (!families.has(family)) select.append(group);
      families.set(family, group);
      group.append(el("option", { value: target, selected: target === value }, words));
    }
  };
  const draw = (shown: readonly TargetOption[]): void => {
    const value = select.value || chosen;
    families.clear();
    select.replaceChildren();
    append(shown, value);
  };
  const filter = (): void => {
    const matches = matching();
    const held = options.filter(({ target }) => target === chosen);
    // The chosen one stays on the list: a list without it would show another.
    draw(find.value.trim() === "" ? options : [...held.filter((option) => !matches.includes(option)), ...matches]);
    status.textContent = find.value.trim() === "" ? "" : `${format.plural(matches.length, "target")} found`;
    find.toggleAttribute("data-none", matches.length === 0);
  };
  find.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select.focus();
    else if (event.key === "Enter") {
      const first = matching()[0];
      if (first && find.value.trim() !== "") choose(first.target);
    } else return;
    event.preventDefault();
  });
  let [typed, typed_ms] = ["", 0];
  select.addEventListener("keydown", (event) => {
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = performance.now();
    typed = now - typed_ms > TYPING_MS ? event.key : typed + event.key;
    typed_ms = now;
    if (typed.trim() === "") return; // opens the list
    event.preventDefault();
    const listed = [...select.options].map(({ value }) => value);
    const match = options.find((option) => listed.includes(option.target) && matchesTyped(option, typed));
    if (!match || match.target === select.value) return;
    select.value = match.target;
    clearTimeout(waiting);
    // Not for every letter: a target may have to be estimated first.
    waiting = setTimeout(() => choose(select.value), TYPING_MS / 2);
  });
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const add = (added: readonly TargetOption[]): void => {
    options.push(...added);
    if (find.value.trim() === "") append(added, select.value || chosen);
    else filter();
  };
  const element = el("span", { class: "target-select" }, el("label", { class: "target-choice" }, el("span", {}, label), select), find, status);
  return { element, select, add };
}
