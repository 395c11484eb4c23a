/** The targets that files are estimated on: a field that finds them by any name, and a chip for each that is chosen. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type TargetOption, findTargets } from "../target_names.ts";
import { nameIn } from "../targets.ts";
import { MAX_WANTED } from "../extra_targets.ts";

/** More are a word away. */
const MAX_LISTED = 10;

/** What the box chooses from and tells. */
export interface TargetBox {
  element: HTMLElement;
  /** Shows that these are chosen. */
  show(chosen: readonly string[]): void;
}

/** `choose` is called with all that are chosen, the one that is looked at first; `recent` says what was chosen before. */
export function targetBox(id: string, options: readonly TargetOption[], recent: () => readonly string[], choose: (chosen: readonly string[]) => void): TargetBox {
  let chosen: readonly string[] = [];
  let listed: TargetOption[] = [];
  let active = -1;
  const known = new Map(options.map((option) => [option.target, option]));
  const chips = el("ul", { class: "plain target-chips", "aria-label": "Chosen targets" });
  const words = el("p", { class: "subtle target-words", role: "status" });
  const list = el("ul", { class: "plain target-list panel", id: `${id}-list`, role: "listbox", "aria-label": "Targets", hidden: true });
  const input = el("input", {
    id,
    type: "text",
    role: "combobox",
    "aria-label": "Add a target",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Chip, board, phone or GPU: STM32H7, Pi 5, U55…",
    oninput: () => open(),
    onfocus: () => open(),
    onclick: () => open(),
    onblur: () => close(),
  });
  const nameOf = (target: string): string => known.get(target)?.words ?? nameIn("device", target) ?? target;

  const close = (): void => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const open = (): void => {
    const typed = input.value.trim();
    const found = typed === "" ? suggestions() : findTargets(options, typed).filter(({ target }) => !chosen.includes(target));
    listed = found.slice(0, MAX_LISTED);
    active = typed !== "" && listed.length > 0 ? 0 : -1;
    draw();
    const more = found.length > listed.length ? `, the first ${listed.length} of them below` : "";
    words.textContent = typed === "" ? "" : found.length > 0 ? `${format.plural(found.length, "target")} found${more}` : noneWords(typed);
  };

  const noneWords = (typed: string): string => {
    const is_chosen = findTargets(options, typed).length > 0;
    return is_chosen ? "Chosen already." : `Nothing here is called “${typed}”. Where you have the hardware, measure a few files and enter the times under Your devices in a report.`;
  };

  /** Recent ones first, then what every report is of. */
  const suggestions = (): TargetOption[] => {
    const before = recent().flatMap((target) => known.get(target) ?? []).map((option) => ({ ...option, family: "Recent" }));
    const others = options.filter(({ target }) => !before.some((option) => option.target === target));
    return [...before, ...others].filter(({ target }) => !chosen.includes(target)).slice(0, MAX_LISTED);
  };

  const draw = (): void => {
    list.replaceChildren(
      ...listed.map(({ target, words, family }, i) =>
        // The field keeps the focus.
        el("li", { id: `${id}-option-${i}`, role: "option", "data-target": target, "aria-selected": String(i === active), onpointerdown: (event: Event) => event.preventDefault(), onclick: () => add([target]) }, el("span", {}, words), " ", el("span", { class: "subtle" }, family)),
      ),
    );
    list.hidden = listed.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `${id}-option-${active}`);
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };

  const set = (targets: readonly string[]): void => {
    show(targets);
    choose(chosen);
  };
  const add = (targets: readonly string[]): void => {
    input.value = "";
    words.textContent = "";
    close();
    if (chosen.length + targets.length > MAX_WANTED) words.textContent = `At most ${MAX_WANTED} targets at a time.`;
    set([...new Set([...chosen, ...targets])].slice(0, MAX_WANTED));
  };
  const remove = (target: string): void => {
    set(chosen.filter((other) => other !== target));
    input.focus();
    close();
  };

  input.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      if (list.hidden) open();
      const step = key === "ArrowDown" ? 1 : -1;
      active = listed.length === 0 ? -1 : (active + step + listed.length + (active < 0 && step < 0 ? 1 : 0)) % listed.length;
      draw();
    } else if (key === "Enter") {
      const several = input.value.split(/[,;\n]/).map((part) => part.trim()).filter((part) => part !== "");
      if (several.length > 1) addSeveral(several);
      else if (listed[active] && !list.hidden) add([listed[active].target]);
      else return;
    } else if (key === "Escape" && !list.hidden) close();
    else if (key === "Backspace" && input.value === "" && chosen.length > 0) remove(chosen.at(-1) as string);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** The best of each name; names that nothing has stay in the field. */
  const addSeveral = (names: readonly string[]): void => {
    const unknown = names.filter((name) => findTargets(options, name).length === 0);
    add(names.flatMap((name) => findTargets(options, name)[0]?.target ?? []));
    if (unknown.length === 0) return;
    input.value = unknown.join(", ");
    words.textContent = noneWords(unknown.join("”, “"));
  };

  const show = (targets: readonly string[]): void => {
    chosen = targets;
    chips.replaceChildren(
      ...chosen.map((target, i) => el("li", { class: "target-chip", "data-target": target }, el("span", { title: i === 0 ? "Reports open with it" : null }, nameOf(target)), el("button", { type: "button", class: "chip-remove", "aria-label": `Remove ${nameOf(target)}`, onclick: () => remove(target) }, "×"))),
    );
    chips.hidden = chosen.length === 0;
  };

  const element = el("div", { class: "target-box" }, el("label", { for: id, class: "target-box-label" }, "Targets"), chips, el("div", { class: "target-field" }, input, list), words);
  return { element, show };
}
