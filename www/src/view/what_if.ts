/** What if: sliders for the network and the accelerator, and what the chosen target would then cost. */
import { addAccelerator, keepAccelerators } from "../accelerators.ts";
import { el } from "../dom.ts";
import { type Estimator, type FileBytes, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { ModelFile } from "../model_files.ts";
import type { Preview } from "../preview.ts";
import type { InForce, Report, TargetChoice } from "../report.ts";
import { choiceOf } from "../requested_targets.ts";
import { AS_IT_IS, type Scenario, isChanged } from "../scenario.ts";
import { nameInSpace } from "../targets.ts";
import { asSentence } from "../words.ts";
import { answerParts } from "./what_if_answer.ts";
import { type Hardware, type Wanted, WhatIfSliders } from "./what_if_sliders.ts";

/** What a report was made of, and how another one is asked for. */
export interface Opened {
  /** Null after a reload, where files are not kept. */
  file: ModelFile | null;
  scenario: Scenario;
  change: (scenario: Scenario) => void;
}

/** The timeline follows the sliders up to so many operators: more of them take longer to bring over than a slider may. */
const MAX_DRAWN_OPERATORS = 2000;

const AS_IN_FORCE: Hardware = { clock_mhz: null, arena_cache_bytes: null };

/** What the panel reads, and whom it tells. */
interface Surroundings {
  report: Report;
  opened: Opened;
  estimator: Estimator;
  focus: Focus;
  preview: Preview;
  /** Called when an accelerator was kept. */
  kept: () => void;
  signal: AbortSignal;
}

/** Sliders for the network and the hardware, with the estimates that they make. */
export function whatIfPanel(report: Report, opened: Opened, estimator: Estimator, focus: Focus, preview: Preview, kept: () => void, signal: AbortSignal): HTMLElement {
  return new WhatIf({ report, opened, estimator, focus, preview, kept, signal }).element;
}

class WhatIf {
  readonly element: HTMLElement;
  readonly #around: Surroundings;
  readonly #base: Scenario;
  readonly #sliders: WhatIfSliders;
  readonly #answer = el("div", { class: "what-if-answer", role: "status" });
  readonly #outcome = el("p", { class: "what-if-words doubt" });
  readonly #apply = el("button", { type: "button", class: "primary", disabled: true, onclick: () => this.#around.opened.change(this.#wanted.scenario) }, "Report of this network");
  readonly #keep = el("button", { type: "button", hidden: true, onclick: () => this.#keepAccelerator() }, "Keep as an accelerator");
  readonly #reset = el("button", { type: "button", disabled: true, onclick: () => this.#start() }, "Reset");
  #target: string;
  #wanted: Wanted;
  /** Null until it is known. */
  #in_force: InForce | null = null;
  #bytes: Promise<FileBytes> | null = null;
  /** Questions up to now: an answer to an earlier one is not shown. */
  #n_asked = 0;
  #is_busy = false;
  /** The network that the answer is of, as JSON; null where it could not be built, or nothing was asked. */
  #answered: string | null = null;

  constructor(around: Surroundings) {
    const { report, opened, focus, signal } = around;
    this.#around = around;
    this.#base = { ...opened.scenario };
    this.#wanted = { scenario: { ...this.#base }, hardware: AS_IN_FORCE };
    this.#target = focus.targetIn(report);
    this.#sliders = new WhatIfSliders(report, this.#base, (scenario, hardware) =>
      this.#update({ scenario: { ...this.#wanted.scenario, ...scenario }, hardware: { ...this.#wanted.hardware, ...hardware } }),
    );
    focus.onChange(() => this.#refocus(), signal);
    this.#start();
    this.element = el("div", { class: "what-if" }, ...(opened.file ? this.#body() : [el("p", { class: "subtle" }, "Open the file again to change it: this browser keeps its report alone.")]));
  }

  #body(): HTMLElement[] {
    const { batch, threads, dimensions } = this.#base;
    const back = isChanged(this.#base) ? el("button", { type: "button", onclick: () => this.#around.opened.change({ ...AS_IT_IS, batch, threads, dimensions }) }, "Back to the file as it is") : null;
    return [el("div", { class: "sliders" }, ...this.#sliders.elements), this.#answer, this.#outcome, el("div", { class: "buttons" }, this.#apply, this.#keep, back, this.#reset)];
  }

  /** The sliders are those of a target; a new budget judges the same answer. */
  #refocus(): void {
    const target = this.#around.focus.targetIn(this.#around.report);
    if (target === this.#target) return this.#update(this.#wanted);
    this.#target = target;
    this.#in_force = null;
    this.#start();
  }

  #start(): void {
    this.#wanted = { scenario: { ...this.#base }, hardware: AS_IN_FORCE };
    this.#n_asked++;
    this.#clear();
    void this.#findInForce();
  }

  /** The sliders of the hardware start at what it has. */
  async #findInForce(): Promise<void> {
    const target = this.#target;
    this.#sliders.set(target, this.#wanted, this.#in_force);
    const in_force = nameInSpace("device", target) !== null ? null : await this.#around.estimator.inForce(choiceOf(target)).catch(() => null);
    if (target !== this.#target) return;
    this.#in_force = in_force;
    this.#sliders.set(target, this.#wanted, in_force);
  }

  /** The chosen target with the clock and the SRAM of the sliders. */
  #choice(): TargetChoice & { device: string } {
    const { clock_mhz, arena_cache_bytes } = this.#wanted.hardware;
    const target = this.#target;
    const device = this.#around.report.results.find((result) => result.target === target)?.device ?? target;
    return { ...choiceOf(target), name: target, device, ...(clock_mhz ? { clock_mhz } : {}), ...(arena_cache_bytes ? { arena_cache_bytes } : {}) };
  }

  #showButtons(): void {
    const { scenario, hardware } = this.#wanted;
    const has_hardware = hardware.clock_mhz !== null || hardware.arena_cache_bytes !== null;
    const is_other = JSON.stringify(scenario) !== JSON.stringify(this.#base);
    // Only a network that was built can be reported on.
    this.#apply.disabled = !is_other || this.#answered !== JSON.stringify(scenario);
    this.#keep.hidden = !has_hardware;
    this.#reset.disabled = !is_other && !has_hardware;
  }

  #update(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#n_asked++;
    this.#showButtons();
    const { file } = this.#around.opened;
    if (!file) return;
    if (this.#reset.disabled) return this.#clear();
    this.#answer.setAttribute("aria-busy", "true");
    void this.#follow(file);
  }

  /** The report above is the answer. */
  #clear(): void {
    this.#around.preview.show(null);
    this.#answer.replaceChildren();
    this.#say("", null);
  }

  /** One question at a time; of those that come meanwhile only the last one is asked. */
  async #follow(file: ModelFile): Promise<void> {
    if (this.#is_busy) return;
    this.#is_busy = true;
    for (let last = -1; last !== this.#n_asked && !this.#around.signal.aborted; ) {
      last = this.#n_asked;
      await this.#ask(file, last);
    }
    this.#is_busy = false;
  }

  async #ask(file: ModelFile, question: number): Promise<void> {
    const { report, estimator, preview, signal } = this.#around;
    const { scenario } = this.#wanted;
    const begun = performance.now();
    try {
      this.#bytes ??= readFile(file).then((bytes) => ({ name: report.file, bytes }));
      const changed = await estimator.explore(await this.#bytes, scenario, { targets: [], more_targets: [this.#choice()], is_summary: report.operators.length > MAX_DRAWN_OPERATORS }, signal);
      if (question !== this.#n_asked) return;
      this.#answer.replaceChildren(...answerParts(changed, report, this.#target));
      preview.show(changed);
      this.#say("", JSON.stringify(scenario));
      performance.measure("litecast:what-if", { start: begun, end: performance.now() });
    } catch (error) {
      if (signal.aborted || question !== this.#n_asked) return;
      preview.show(null);
      this.#answer.replaceChildren();
      this.#say(asSentence((error as Error).message), null);
    }
  }

  /** The answer is that of all sliders: `words` say why there is none. */
  #say(words: string, network: string | null): void {
    this.#outcome.textContent = words;
    this.#answered = network;
    this.#answer.removeAttribute("aria-busy");
    this.#showButtons();
  }

  #keepAccelerator(): void {
    const { clock_mhz, arena_cache_bytes } = this.#wanted.hardware;
    const { name: _, ...choice } = this.#choice();
    const clock = clock_mhz ? `, ${clock_mhz} MHz` : "";
    const sram = arena_cache_bytes ? `, ${format.text(format.bytes(arena_cache_bytes))} SRAM` : "";
    keepAccelerators(addAccelerator({ ...choice, device: `${choice.device}${clock}${sram}` }));
    this.#around.kept();
  }
}
