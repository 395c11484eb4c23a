/** The targets that files are estimated on: a field that finds them by any name, and a chip for each that is chosen. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type TargetOption, findTargets } from "../target_names.ts";
import { nameInSpace } from "../targets.ts";
import { MAX_WANTED } from "../remembered_targets.ts";

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
  return new ComboBox(id, options, recent, choose);
}

class ComboBox implements TargetBox {
  readonly element: HTMLElement;
  readonly #id: string;
  readonly #options: readonly TargetOption[];
  readonly #recent: () => readonly string[];
  readonly #choose: (chosen: readonly string[]) => void;
  readonly #option_of: ReadonlyMap<string, TargetOption>;
  readonly #chips = el("ul", { class: "plain target-chips", "aria-label": "Chosen targets" });
  readonly #words = el("p", { class: "subtle target-words", role: "status" });
  readonly #list: HTMLElement;
  readonly #input: HTMLInputElement;
  #chosen: readonly string[] = [];
  #listed: TargetOption[] = [];
  /** Index of the listed option that Enter adds; −1 for none. */
  #active = -1;

  constructor(id: string, options: readonly TargetOption[], recent: () => readonly string[], choose: (chosen: readonly string[]) => void) {
    this.#id = id;
    this.#options = options;
    this.#recent = recent;
    this.#choose = choose;
    this.#option_of = new Map(options.map((option) => [option.target, option]));
    this.#list = el("ul", { class: "plain target-list panel", id: `${id}-list`, role: "listbox", "aria-label": "Targets", hidden: true });
    this.#input = el("input", {
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
      oninput: () => this.#open(),
      onfocus: () => this.#open(),
      onclick: () => this.#open(),
      onblur: () => this.#close(),
    });
    this.#input.addEventListener("keydown", (event) => {
      if (!this.#press(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.element = el("div", { class: "target-box" }, el("label", { for: id, class: "target-box-label" }, "Targets"), this.#chips, el("div", { class: "target-field" }, this.#input, this.#list), this.#words);
  }

  show(chosen: readonly string[]): void {
    this.#chosen = chosen;
    this.#chips.replaceChildren(
      ...chosen.map((target, i) => {
        const name = this.#option_of.get(target)?.words ?? nameInSpace("device", target) ?? target;
        const remove = el("button", { type: "button", class: "chip-remove", "aria-label": `Remove ${name}`, onclick: () => this.#remove(target) }, "×");
        return el("li", { class: "target-chip", "data-target": target }, el("span", { title: i === 0 ? "Reports open with it" : null }, name), remove);
      }),
    );
    this.#chips.hidden = chosen.length === 0;
  }

  #set(targets: readonly string[]): void {
    this.show(targets);
    this.#choose(this.#chosen);
  }

  #add(targets: readonly string[]): void {
    const n_wanted = this.#chosen.length + targets.length;
    this.#input.value = "";
    this.#words.textContent = n_wanted > MAX_WANTED ? `At most ${MAX_WANTED} targets at a time.` : "";
    this.#close();
    this.#set([...new Set([...this.#chosen, ...targets])].slice(0, MAX_WANTED));
  }

  /** The best of each name; names that nothing has stay in the field. */
  #addNamed(names: readonly string[]): void {
    const unknown = names.filter((name) => findTargets(this.#options, name).length === 0);
    this.#add(names.flatMap((name) => findTargets(this.#options, name)[0]?.target ?? []));
    if (unknown.length === 0) return;
    this.#input.value = unknown.join(", ");
    this.#words.textContent = this.#noneWords(unknown.join("”, “"));
  }

  #remove(target: string): void {
    this.#set(this.#chosen.filter((other) => other !== target));
    this.#input.focus();
    this.#close();
  }

  #close(): void {
    this.#list.hidden = true;
    this.#active = -1;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }

  #open(): void {
    const typed = this.#input.value.trim();
    const matches = typed === "" ? this.#suggestions() : findTargets(this.#options, typed).filter(({ target }) => !this.#chosen.includes(target));
    this.#listed = matches.slice(0, MAX_LISTED);
    this.#active = typed !== "" && this.#listed.length > 0 ? 0 : -1;
    this.#draw();
    const more = matches.length > this.#listed.length ? `, the first ${this.#listed.length} of them below` : "";
    this.#words.textContent = typed === "" ? "" : matches.length > 0 ? `${format.plural(matches.length, "target")} found${more}` : this.#noneWords(typed);
  }

  /** Recent ones first, then what every report is of. */
  #suggestions(): TargetOption[] {
    const before = this.#recent().flatMap((target) => this.#option_of.get(target) ?? []).map((option) => ({ ...option, family: "Recent" }));
    const others = this.#options.filter(({ target }) => !before.some((option) => option.target === target));
    return [...before, ...others].filter(({ target }) => !this.#chosen.includes(target)).slice(0, MAX_LISTED);
  }

  #noneWords(typed: string): string {
    const is_chosen = findTargets(this.#options, typed).length > 0;
    return is_chosen ? "Chosen already." : `Nothing here is called “${typed}”. Where you have the hardware, measure a few files and enter the times under Your devices in a report.`;
  }

  #draw(): void {
    const optionId = (i: number): string => `${this.#id}-option-${i}`;
    this.#list.replaceChildren(
      ...this.#listed.map(({ target, words, family }, i) =>
        // The field keeps the focus.
        el("li", { id: optionId(i), role: "option", "data-target": target, "aria-selected": String(i === this.#active), onpointerdown: (event: Event) => event.preventDefault(), onclick: () => this.#add([target]) }, el("span", {}, words), " ", el("span", { class: "subtle" }, family)),
      ),
    );
    this.#list.hidden = this.#listed.length === 0;
    this.#input.setAttribute("aria-expanded", String(!this.#list.hidden));
    if (this.#active < 0) this.#input.removeAttribute("aria-activedescendant");
    else this.#input.setAttribute("aria-activedescendant", optionId(this.#active));
    this.#list.children[this.#active]?.scrollIntoView({ block: "nearest" });
  }

  /** Moves among the listed options by `step`, around both ends. */
  #move(step: 1 | -1): void {
    if (this.#list.hidden) this.#open();
    const n = this.#listed.length;
    this.#active = n === 0 ? -1 : (this.#active + step + n + (this.#active < 0 && step < 0 ? 1 : 0)) % n;
    this.#draw();
  }

  /** Adds what is typed or listed. False if there is nothing to add. */
  #enter(): boolean {
    const names = this.#input.value.split(/[,;\n]/).map((part) => part.trim()).filter((part) => part !== "");
    const option = this.#list.hidden ? undefined : this.#listed[this.#active];
    if (names.length > 1) this.#addNamed(names);
    else if (option) this.#add([option.target]);
    else return false;
    return true;
  }

  /** What a key does; false if it is not one of the box. */
  #press(key: string): boolean {
    const last = this.#chosen.at(-1);
    if (key === "Enter") return this.#enter();
    if (key === "ArrowDown" || key === "ArrowUp") this.#move(key === "ArrowDown" ? 1 : -1);
    else if (key === "Escape" && !this.#list.hidden) this.#close();
    else if (key === "Backspace" && this.#input.value === "" && last !== undefined) this.#remove(last);
    else return false;
    return true;
  }
}
