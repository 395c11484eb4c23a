/** What if: sliders for the network and the accelerator, and what the chosen target would then cost. */
import { addAccelerator, keepAccelerators } from "../accelerators.ts";
import { choiceOf } from "../requested_targets.ts";
import { judge, readBudget } from "../budget.ts";
import { el, quantity } from "../dom.ts";
import { type Estimator, type FileBytes, readFile } from "../estimator.ts";
import type { ModelFile } from "../model_files.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Preview } from "../preview.ts";
import { type Estimate, type InForce, type Report, type TargetChoice, isEstimate } from "../report.ts";
import { AS_IT_IS, type Scenario, factorText, isChanged } from "../scenario.ts";
import { THREADS } from "../threads.ts";
import { described, hasThreads, nameIn } from "../targets.ts";
import { doubtWords, inMetricOrder, metricName, sentence } from "../words.ts";

/** What a report was made of, and how another one is asked for. */
export interface Opened {
  /** Null after a reload, where files are not kept. */
  file: ModelFile | null;
  scenario: Scenario;
  change: (scenario: Scenario) => void;
}

/** Positions of the factors: finer ones give the same shapes in small networks. */
const FACTORS = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2];
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const CLOCKS_MHZ = [50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1250, 1500];
const SRAM_KIB = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192];

/** The timeline follows the sliders up to so many operators: more of them take longer to bring over than a slider may. */
const MAX_DRAWN_OPERATORS = 2000;

interface Hardware {
  clock_mhz: number | null;
  arena_cache_bytes: number | null;
}

interface Slider {
  element: HTMLElement;
  /** Shows a value, or that there is none to choose here. */
  /** Positions end at `max`. */
  set(value: number, is_enabled: boolean, reason: string, max?: number): void;
}

/** Sliders for the network and the hardware, with the estimates that they make. */
export function whatIfPanel(report: Report, { file, scenario, change }: Opened, estimator: Estimator, focus: Focus, preview: Preview, changed: () => void, signal: AbortSignal): HTMLElement {
  const base = { ...scenario };
  let wanted = { ...scenario };
  let hardware: Hardware = { clock_mhz: null, arena_cache_bytes: null };
  /** Null until it is known. */
  let in_force: InForce | null = null;
  let read: Promise<FileBytes> | null = null;
  let asked = 0;
  let is_busy = false;
  /** The network that the answer is of, as JSON; null where it could not be built, or nothing was asked. */
  let answered: string | null = null;

  const height = report.tensors[report.model.inputs[0]]?.shape ?? [];
  const answer = el("div", { class: "what-if-answer", role: "status" });
  const outcome = el("p", { class: "what-if-words doubt" });
  const apply = el("button", { type: "button", class: "primary", disabled: true, onclick: () => change(wanted) }, "Report of this network");
  const keep = el("button", { type: "button", hidden: true, onclick: () => keepThis() }, "Keep as an accelerator");
  const reset = el("button", { type: "button", disabled: true, onclick: () => start() }, "Reset");

  const factor = (name: "resolution" | "width", label: string, words: (value: number) => string): Slider =>
    slider(`what-if-${name}`, label, FACTORS, words, (value) => update({ ...wanted, [name]: value }, hardware));
  const sliders = {
    resolution: factor("resolution", "Input resolution", (value) => resolutionText(height, value / base.resolution)),
    width: factor("width", "Width of layers", factorText),
    batch: slider("what-if-batch", "Batch", BATCHES, String, (batch) => update({ ...wanted, batch }, hardware)),
    threads: slider("what-if-threads", "Threads", THREADS, String, (threads) => update({ ...wanted, threads }, hardware)),
    clock: slider("what-if-clock", "Clock", CLOCKS_MHZ, (mhz) => `${mhz}\u202fMHz`, (mhz) => update(wanted, { ...hardware, clock_mhz: mhz === in_force?.clock_mhz ? null : mhz })),
    sram: slider("what-if-sram", "SRAM", SRAM_KIB, sramWords, (kib) => update(wanted, { ...hardware, arena_cache_bytes: kib * 1024 === in_force?.arena_cache_bytes ? null : kib * 1024 })),
  };

  /** As the target is in the registry, or as it was configured. */
  function configured(): TargetChoice {
    return choiceOf(focus.targetIn(report));
  }

  /** The chosen target with the clock and the SRAM of the sliders. */
  function chosen(): TargetChoice & { device: string } {
    const { clock_mhz, arena_cache_bytes } = hardware;
    const target = focus.targetIn(report);
    const device = report.results.find((result) => result.target === target)?.device ?? target;
    return { ...configured(), name: target, device, ...(clock_mhz ? { clock_mhz } : {}), ...(arena_cache_bytes ? { arena_cache_bytes } : {}) };
  }

  function setSliders(): void {
    const target = focus.targetIn(report);
    const { clock_mhz = null, arena_cache_bytes = null } = in_force ?? {};
    const is_npu = arena_cache_bytes !== null;
    const is_processor = hasThreads(target);
    const is_device = nameIn("device", target) !== null;
    const takes_network = !report.what_if?.channels && !is_device;
    const has_sides = height.length >= 3 && height.slice(1, -1).some((size) => size > 1);
    sliders.resolution.set(wanted.resolution, takes_network && has_sides, "the input has no rows or columns");
    sliders.width.set(wanted.width, takes_network, "a device of your own follows from measured files");
    sliders.batch.set(wanted.batch, !is_npu && !is_device, "NPUs take one input at a time");
    const max_threads = described(target)?.max_threads;
    sliders.threads.set(Math.min(wanted.threads, max_threads ?? Infinity), is_processor, "of processors that were measured on several numbers of them", max_threads);
    sliders.clock.set(hardware.clock_mhz ?? clock_mhz ?? 0, clock_mhz !== null, "of microcontrollers and Ethos-U accelerators");
    sliders.sram.set((hardware.arena_cache_bytes ?? arena_cache_bytes ?? 0) / 1024, is_npu, "of Ethos-U accelerators");
  }

  /** The sliders of the hardware start at what it has. */
  async function findInForce(): Promise<void> {
    const wanted_of = target;
    const found = nameIn("device", target) !== null ? null : await estimator.inForce(configured()).catch(() => null);
    if (wanted_of !== target) return;
    in_force = found;
    setSliders();
  }

  function start(): void {
    wanted = { ...base };
    hardware = { clock_mhz: null, arena_cache_bytes: null };
    asked++;
    clear();
    setSliders();
    void findInForce();
  }

  function showButtons(): void {
    const has_hardware = hardware.clock_mhz !== null || hardware.arena_cache_bytes !== null;
    const is_other = JSON.stringify(wanted) !== JSON.stringify(base);
    // Only a network that was built can be reported on.
    apply.disabled = !is_other || answered !== JSON.stringify(wanted);
    keep.hidden = !has_hardware;
    reset.disabled = !is_other && !has_hardware;
  }

  function update(scenario: Scenario, next: Hardware): void {
    wanted = scenario;
    hardware = next;
    asked++;
    showButtons();
    if (!file) return;
    if (reset.disabled) return clear();
    answer.setAttribute("aria-busy", "true");
    void follow();
  }

  /** The report above is the answer. */
  function clear(): void {
    preview.show(null);
    answer.replaceChildren();
    say("", null);
  }

  /** One question at a time; of those that come meanwhile only the last one is asked. */
  async function follow(): Promise<void> {
    if (is_busy) return;
    is_busy = true;
    for (let seen = -1; seen !== asked && !signal.aborted; ) {
      seen = asked;
      await ask(seen);
    }
    is_busy = false;
  }

  async function ask(number: number): Promise<void> {
    const begun = performance.now();
    try {
      read ??= readFile(file as ModelFile).then((bytes) => ({ name: report.file, bytes }));
      const found = await estimator.explore(await read, wanted, { targets: [], more_targets: [chosen()], is_summary: report.operators.length > MAX_DRAWN_OPERATORS }, signal);
      if (number !== asked) return;
      show(found);
      preview.show(found);
      say("", JSON.stringify(wanted));
      performance.measure("litecast:what-if", { start: begun, end: performance.now() });
    } catch (error) {
      if (signal.aborted || number !== asked) return;
      preview.show(null);
      answer.replaceChildren();
      say(sentence((error as Error).message), null);
    }
  }

  /** The answer is that of all sliders: `words` say why there is none. */
  function say(words: string, network: string | null): void {
    outcome.textContent = words;
    answered = network;
    answer.removeAttribute("aria-busy");
    showButtons();
  }

  function show(found: Report): void {
    const target = focus.targetIn(report);
    const before = new Map(report.results.filter(isEstimate).filter((result) => result.target === target).map((result) => [result.metric, result]));
    const tiles = inMetricOrder(found.results.filter(isEstimate)).map((estimate) => tile(estimate, before.get(estimate.metric)));
    const reasons = new Set(found.results.flatMap((result) => (isEstimate(result) ? [] : [result.unavailable])));
    const doubts = found.diagnostics.filter(({ code }) => !report.diagnostics.some((known) => known.code === code));
    answer.replaceChildren(
      el("dl", { class: "what-if-tiles" }, ...tiles, fact("MACs", report.model.macs, found.model.macs), fact("Weights", report.model.weight_bytes, found.model.weight_bytes, "bytes")),
      ...[...reasons].map((reason) => el("p", { class: "reason" }, `No estimate: ${reason}.`)),
      ...doubts.map(({ severity, message }) => el("p", { class: severity === "warning" ? "doubt" : "subtle" }, sentence(message))),
    );
  }

  function keepThis(): void {
    const { name: _, ...choice } = chosen();
    const clock = hardware.clock_mhz ? `, ${hardware.clock_mhz} MHz` : "";
    const sram = hardware.arena_cache_bytes ? `, ${format.text(format.bytes(hardware.arena_cache_bytes))} SRAM` : "";
    keepAccelerators(addAccelerator({ ...choice, device: `${choice.device}${clock}${sram}` }));
    changed();
  }

  let target = focus.targetIn(report);
  // The sliders are those of a target; a new budget judges the same answer.
  const refocus = (): void => {
    if (focus.targetIn(report) === target) return update(wanted, hardware);
    target = focus.targetIn(report);
    in_force = null;
    start();
  };
  focus.onChange(refocus, signal);
  start();
  const body = file
    ? [
        el("div", { class: "sliders" }, ...Object.values(sliders).map(({ element }) => element)),
        answer,
        outcome,
        el("div", { class: "buttons" }, apply, keep, isChanged(base) ? el("button", { type: "button", onclick: () => change({ ...AS_IT_IS, batch: base.batch, threads: base.threads, dimensions: base.dimensions }) }, "Back to the file as it is") : null, reset),
      ]
    : [el("p", { class: "subtle" }, "Open the file again to change it: this browser keeps its report alone.")];
  return el("div", { class: "what-if" }, ...body);
}

function slider(id: string, label: string, values: readonly number[], words: (value: number) => string, change: (value: number) => void): Slider {
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

/** More than any board has is what the accelerator addresses: Vela may fill all of it. */
const ALL_KIB = 1024 ** 2;

function sramWords(kib: number): string {
  return kib >= ALL_KIB ? "no limit" : format.text(format.bytes(kib * 1024));
}

/** Sides of the input, as the engine rounds them. */
function resolutionText(shape: readonly number[], factor: number): string {
  const sides = shape.slice(1, -1).map((size) => (size > 1 ? Math.max(1, Math.round(size * factor)) : size));
  return sides.length > 0 ? sides.join("×") : factorText(factor);
}

function tile(estimate: Estimate, before: Estimate | undefined): HTMLElement {
  const { metric, value, unit } = estimate;
  const found = judge(estimate, readBudget());
  return el(
    "div",
    { class: `metric${found ? ` ${found.kind}` : ""}`, "data-metric": metric },
    el("dt", {}, metricName(metric)),
    el(
      "dd",
      {},
      quantity(format.measure(value, unit)),
      before && before.value > 0 ? el("span", { class: `difference ${direction(value, before.value)}` }, `${format.relativeChange(value / before.value)} from ${format.text(format.measure(before.value, unit))}`) : null,
      el("span", { class: "doubt-words" }, doubtWords(estimate)),
      found ? el("span", { class: "verdict" }, found.words) : null,
    ),
  );
}

function fact(name: string, before: number, after: number, unit = ""): HTMLElement {
  const text = unit === "bytes" ? format.bytes(after) : format.count(after);
  return el("div", { class: "metric" }, el("dt", {}, name), el("dd", {}, quantity(text), before > 0 ? el("span", { class: `difference ${direction(after, before)}` }, format.relativeChange(after / before)) : null));
}

/** Changes below this part are shown as none. */
const SEEN_CHANGE = 5e-4;

function direction(value: number, before: number): string {
  const change = value / before - 1;
  return Math.abs(change) < SEEN_CHANGE ? "same" : change < 0 ? "less" : "more";
}
