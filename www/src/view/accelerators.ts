/** Accelerators: the smallest that meets a latency, and those of one's own. */
import { MAX_INI_CHARACTERS, accelerators, addAccelerator, keepAccelerators } from "../accelerators.ts";
import { readBudget } from "../budget.ts";
import { el, keepingFocus } from "../dom.ts";
import { type Estimator, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Limits, Report, Sweep, SweepPoint, TargetChoice, TargetChoices } from "../report.ts";
import { onFileDropped } from "./file_drop.ts";
import type { Opened } from "./what_if.ts";
import { idInSpace, nameInSpace } from "../targets.ts";
import { markedEvidence, asSentence } from "../words.ts";

/** Taken where no budget is set. */
const DEFAULT_LIMIT_MS = 10;

/** `changed` is called when there is another accelerator to estimate on, or one less. */
export function acceleratorPanel(report: Report, { file, scenario }: Opened, estimator: Estimator, focus: Focus, changed: () => void, signal: AbortSignal): HTMLElement {
  const outcome = el("div", { class: "sweep", role: "status" });
  const budget = readBudget();
  const limit = el("input", { id: "sweep-limit", type: "number", min: 0, step: "any", required: true, value: budget.latency_ms ?? DEFAULT_LIMIT_MS });
  const sram_kib = el("input", { id: "sweep-sram", type: "number", min: 0, step: "any", placeholder: "any", value: budget.memory_kib ?? "" });
  const sweep = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!file || !(limit.valueAsNumber > 0) || !sram_kib.validity.valid) return;
    const limits: Limits = { latency_ms: limit.valueAsNumber };
    if (sram_kib.valueAsNumber > 0) limits.sram_bytes = sram_kib.valueAsNumber * 1024;
    try {
      const begun = performance.now();
      const sweep_points = await estimator.sweep({ name: report.file, bytes: await readFile(file) }, scenario, limits);
      performance.measure("litecast:sweep", { start: begun, end: performance.now() });
      if (!signal.aborted) outcome.replaceChildren(...sweepTable(sweep_points));
    } catch (error) {
      if (!signal.aborted) outcome.replaceChildren(el("p", { class: "doubt" }, asSentence(`no estimate: ${(error as Error).message}`)));
    }
  };
  const list = el("ul", { class: "plain own-accelerators" });
  const form_place = el("div", {});
  const refresh = (): void => void keepingFocus(list, () =>
    list.replaceChildren(
      ...accelerators().map((kept) =>
        el(
          "li",
          {},
          el("button", { type: "button", class: "link", onclick: () => focus.chooseTarget(kept.name) }, kept.device),
          " ",
          el("button", { type: "button", class: "link subtle", "aria-label": `Forget ${kept.device}`, onclick: () => (keepAccelerators(accelerators().filter(({ name }) => name !== kept.name)), refresh(), changed()) }, "forget"),
        ),
      ),
    ),
  );
  refresh();
  void estimator.choices(null).then(
    (choices) => form_place.replaceChildren(ownForm(choices, estimator, () => (refresh(), changed()))),
    () => undefined,
  );
  return el(
    "div",
    { class: "accelerators" },
    file
      ? el("form", { class: "sweep-form", onsubmit: ((event: Event) => void sweep(event)) as EventListener }, el("label", { for: "sweep-limit" }, "Which Ethos-U meets"), limit, " ms", el("label", { for: "sweep-sram" }, "in SRAM of"), sram_kib, " KiB", el("button", { type: "submit" }, "Find the smallest"))
      : el("p", { class: "subtle" }, "Open the file again to estimate it on other accelerators."),
    outcome,
    el("h2", {}, "Accelerators of your own"),
    el("p", { class: "subtle" }, "Any Ethos-U or board, at a clock and with memories that you choose. Each is a target of every report, kept in this browser."),
    form_place,
    list,
  );
}

/** Every accelerator by size, with the clock that it needs, and in a sentence the smallest that meets the limits. */
function sweepTable({ limits, points, smallest, doubts = [] }: Sweep): HTMLElement[] {
  const best = smallest === null ? undefined : points[smallest];
  const asked = [`${limits.latency_ms} ms`, limits.sram_bytes === null ? "" : format.text(format.bytes(limits.sram_bytes))].filter(Boolean).join(" and ");
  const words = best
    ? `The smallest that meets ${asked}: ${best.device}, from ${Math.ceil(best.needed_mhz ?? 0)} MHz.`
    : `None meets ${asked} at ${limits.clock_mhz} MHz or less.`;
  const on_cpu = points.some(({ npu_latency_ms }) => npu_latency_ms) ? ["Of it on the CPU"] : [];
  const head = ["Accelerator", "Latency", "Rests on", ...on_cpu, "at", on_cpu.length > 0 ? "Interval, with the CPU" : "Interval against Vela", "SRAM peak", `For ${limits.latency_ms} ms`].map((name, i) => el("th", { scope: "col", class: i === 0 || name === "Rests on" ? null : "numeric" }, name));
  const rows = points.map((point) => sweepRow(point, limits, point === best, on_cpu.length > 0));
  return [
    el("p", { class: "sweep-words" }, words),
    el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Accelerators, scrollable" }, el("table", { class: "sweep-table" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))),
    el("p", { class: "subtle" }, "Each in its default memories, as Vela counts: cycles of an NPU do not depend on its clock, which memories keep pace with, and what the CPU takes does not change with it. A limit is held against the upper end of the interval."),
    ...doubts.map(({ message }) => el("p", { class: "partial" }, asSentence(points.reduce((words, { target, device }) => words.replaceAll(target, device), message)))),
    ...(on_cpu.length > 0 ? [el("p", { class: "subtle" }, "Where operators stay on the CPU, the interval holds what that takes as well, which was compared with little or nothing: the report of the accelerator says with what.")] : []),
  ];
}

function sweepRow(point: SweepPoint, limits: Sweep["limits"], is_best: boolean, has_cpu: boolean): HTMLElement {
  const { target, device, clock_mhz, latency_ms, npu_latency_ms, sram_bytes, needed_mhz } = point;
  const { lo, hi, value } = latency_ms;
  const ms = (amount: number): string => format.text(format.measure(amount, "ms", value));
  const needs_more = limits.sram_bytes !== null && (sram_bytes?.hi ?? sram_bytes?.value ?? Infinity) > limits.sram_bytes;
  return el(
    "tr",
    { "data-npu": target, class: is_best ? "chosen" : null },
    el("th", { scope: "row" }, device),
    el("td", { class: "numeric" }, ms(value)),
    el("td", { class: "subtle" }, markedEvidence(latency_ms)),
    has_cpu ? el("td", { class: "numeric" }, npu_latency_ms ? ms(value - npu_latency_ms.value) : "nothing") : null,
    el("td", { class: "numeric" }, `${clock_mhz}\u202fMHz`),
    el("td", { class: "numeric subtle" }, lo === null || hi === null ? "no interval" : `${ms(lo)} – ${ms(hi)}`),
    el("td", { class: `numeric ${needs_more ? "over-limit" : ""}` }, sram_bytes ? format.text(format.measure(sram_bytes.value, "bytes")) : "unknown"),
    el("td", { class: `numeric ${(needed_mhz ?? Infinity) > limits.clock_mhz ? "over-limit" : ""}` }, needed_mhz === null ? "at no clock" : `${Math.ceil(needed_mhz).toLocaleString("en")}\u202fMHz`),
  );
}

/** Any accelerator or board, with a clock and memories of one's own. */
function ownForm(known: TargetChoices, estimator: Estimator, added: () => void): HTMLElement {
  let ini: { name: string; text: string } | null = null;
  const words = el("p", { class: "doubt", role: "status" });
  const ini_name = el("span", { class: "subtle" });
  const fields = ownFields(known);
  const readIni = async (file: File): Promise<void> => {
    const text = await file.slice(0, MAX_INI_CHARACTERS + 1).text();
    try {
      if (text.length > MAX_INI_CHARACTERS) throw new Error(`${file.name}: expected at most ${MAX_INI_CHARACTERS} characters`);
      const choices = await estimator.choices(text);
      ini = { name: file.name, text };
      ini_name.textContent = file.name;
      words.textContent = "";
      setSections(fields, known, choices);
    } catch (error) {
      words.textContent = `${file.name}: ${(error as Error).message}`;
    }
  };
  const picker = el("input", { type: "file", id: "own-ini", accept: ".ini,text/plain", hidden: true, onchange: () => void (picker.files?.[0] && readIni(picker.files[0])) });
  const add = (event: Event): void => {
    event.preventDefault();
    const choice = choiceOfForm(fields, ini);
    if (!keepAccelerators(addAccelerator(choice))) words.textContent = "This browser keeps nothing for this page.";
    added();
  };
  const form = el(
    "form",
    { class: "own-form", onsubmit: add as EventListener },
    labelled("own-hardware", "Accelerator or board", fields.hardware),
    labelled("own-system", "System configuration", fields.system),
    labelled("own-mode", "Memory mode", fields.mode),
    labelled("own-optimise", "Vela optimises for", fields.optimise),
    labelled("own-clock", "Clock, MHz", fields.clock),
    labelled("own-sram", "SRAM, KiB", fields.sram),
    labelled("own-bandwidth", "Off-chip, GB/s", fields.bandwidth),
    el("div", { class: "buttons" }, el("button", { type: "submit" }, "Add"), el("button", { type: "button", onclick: () => picker.click() }, "Read a vela.ini…"), picker, ini_name),
    words,
  );
  onFileDropped(form, /\.ini$/i, (file) => void readIni(file));
  return form;
}

/** What is chosen in the form. */
interface OwnFields {
  hardware: HTMLSelectElement;
  system: HTMLSelectElement;
  mode: HTMLSelectElement;
  optimise: HTMLSelectElement;
  clock: HTMLInputElement;
  sram: HTMLInputElement;
  bandwidth: HTMLInputElement;
}

function ownFields(known: TargetChoices): OwnFields {
  const hardware = el(
    "select",
    { id: "own-hardware", onchange: () => setDefaults(fields, known) },
    el("optgroup", { label: "Accelerators" }, ...known.npus.map(({ id, device }) => el("option", { value: id }, device))),
    el("optgroup", { label: "Boards" }, ...known.boards.map(({ id, name }) => el("option", { value: idInSpace("board", id) }, name))),
  );
  const system = el("select", { id: "own-system" });
  const mode = el("select", { id: "own-mode" });
  const optimise = el("select", { id: "own-optimise" }, el("option", { value: "" }, "Speed"), el("option", { value: "Size" }, "Small SRAM"));
  const number = (id: string, placeholder: string): HTMLInputElement => el("input", { id, type: "number", min: 0, step: "any", placeholder });
  const clock = number("own-clock", "default");
  const sram = number("own-sram", "default");
  const bandwidth = number("own-bandwidth", "default");
  const fields = { hardware, system, mode, optimise, clock, sram, bandwidth };
  setSections(fields, known, known);
  return fields;
}

/** Offers the sections of a `vela.ini`. */
function setSections(fields: OwnFields, known: TargetChoices, { system_configs, memory_modes }: TargetChoices): void {
  fields.system.replaceChildren(...system_configs.map(({ name, clock_mhz }) => el("option", { value: name }, `${name} (${clock_mhz} MHz)`)));
  fields.mode.replaceChildren(...memory_modes.map((name) => el("option", { value: name }, name)));
  setDefaults(fields, known);
}

/** Chooses the sections that Vela takes for the accelerator, where the file has them. */
function setDefaults({ hardware, system, mode, optimise }: OwnFields, { npus }: TargetChoices): void {
  const npu = npus.find(({ id }) => id === hardware.value);
  for (const select of [system, mode, optimise]) select.disabled = npu === undefined;
  if (!npu) return;
  if ([...system.options].some(({ value }) => value === npu.system_config)) system.value = npu.system_config;
  if ([...mode.options].some(({ value }) => value === npu.memory_mode)) mode.value = npu.memory_mode;
}

/** The accelerator or board of the form, with the words that lists have for it. */
function choiceOfForm({ hardware, system, mode, optimise, clock, sram, bandwidth }: OwnFields, ini: { name: string; text: string } | null): TargetChoice & { device: string } {
  const is_board = nameInSpace("board", hardware.value) !== null;
  const typed = (input: HTMLInputElement, scale: number): number | undefined => (input.value === "" ? undefined : input.valueAsNumber * scale);
  const [clock_mhz, arena_cache_bytes, off_chip_bytes_per_s] = [typed(clock, 1), typed(sram, 1024), typed(bandwidth, 1e9)];
  const parts = [
    hardware.selectedOptions[0].textContent ?? "",
    clock_mhz ? `${clock_mhz} MHz` : "",
    is_board ? "" : system.value,
    is_board ? "" : mode.value,
    is_board || optimise.value === "" ? "" : "optimised for size",
    arena_cache_bytes ? `${format.text(format.bytes(arena_cache_bytes))} SRAM` : "",
    off_chip_bytes_per_s ? `${off_chip_bytes_per_s / 1e9} GB/s` : "",
    ini && !is_board ? ini.name : "",
  ];
  const place: TargetChoice = is_board
    ? { board: nameInSpace("board", hardware.value) ?? "" }
    : { target: hardware.value, system_config: system.value, memory_mode: mode.value, ...(optimise.value === "Size" ? { optimise: "Size" as const } : {}), ...(ini ? { vela_ini: ini.text } : {}) };
  const rates = {
    ...(clock_mhz ? { clock_mhz } : {}),
    ...(arena_cache_bytes ? { arena_cache_bytes: Math.round(arena_cache_bytes) } : {}),
    ...(off_chip_bytes_per_s ? { off_chip_bytes_per_s } : {}),
  };
  return { ...place, ...rates, device: parts.filter(Boolean).join(", ") };
}

function labelled(id: string, label: string, control: HTMLElement): HTMLElement {
  return el("span", { class: "field" }, el("label", { for: id }, label), control);
}
