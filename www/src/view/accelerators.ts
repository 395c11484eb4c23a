/** Accelerators: the smallest that meets a latency, and those of one's own. */
import { MAX_INI_CHARACTERS, accelerators, addAccelerator, keepAccelerators } from "../accelerators.ts";
import { readBudget } from "../budget.ts";
import { el } from "../dom.ts";
import { type Estimator, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { type Estimate, type Report, type TargetChoice, type TargetChoices, isEstimate } from "../report.ts";
import { sentence } from "./diagnostics.ts";
import type { Opened } from "./what_if.ts";

/** Taken where no budget is set. */
const DEFAULT_LIMIT_MS = 10;
/** What silicon of these NPUs is clocked at; a higher clock is said to be more than that. */
const MAX_CLOCK_MHZ = 1000;

interface Swept {
  device: string;
  id: string;
  clock_mhz: number;
  latency: Estimate;
  memory: Estimate | undefined;
  /** At which the upper end of the interval meets the limit; cycles do not depend on the clock. */
  needed_mhz: number;
}

/** `changed` is called when there is another accelerator to estimate on, or one less. */
export function acceleratorPanel(report: Report, { file, scenario }: Opened, estimator: Estimator, focus: Focus, changed: () => void, signal: AbortSignal): HTMLElement {
  const outcome = el("div", { class: "sweep", role: "status" });
  const limit = el("input", { id: "sweep-limit", type: "number", min: 0, step: "any", required: true, value: readBudget().latency_ms ?? DEFAULT_LIMIT_MS });
  const sweep = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!file || !limit.validity.valid || !(limit.valueAsNumber > 0)) return;
    try {
      const begun = performance.now();
      const choices = await estimator.choices(null);
      const more_targets = choices.npus.map(({ id }): TargetChoice => ({ target: id }));
      const bytes = await readFile(file);
      const found = await estimator.explore({ name: report.file, bytes }, scenario, { targets: [], more_targets, is_summary: true }, signal);
      performance.measure("litecast:sweep", { start: begun, end: performance.now() });
      outcome.replaceChildren(...sweepTable(found, choices, limit.valueAsNumber));
    } catch (error) {
      if (!signal.aborted) outcome.replaceChildren(el("p", { class: "doubt" }, sentence((error as Error).message)));
    }
  };
  const list = el("ul", { class: "plain own-accelerators" });
  const own = el("div", {});
  const refresh = (): void => {
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
    );
  };
  refresh();
  void estimator.choices(null).then(
    (choices) => own.replaceChildren(ownForm(choices, estimator, () => (refresh(), changed()))),
    () => undefined,
  );
  return el(
    "div",
    { class: "accelerators" },
    file
      ? el("form", { class: "sweep-form", onsubmit: ((event: Event) => void sweep(event)) as EventListener }, el("label", { for: "sweep-limit" }, "Which Ethos-U meets"), limit, " ms", el("button", { type: "submit" }, "Find the smallest"))
      : el("p", { class: "subtle" }, "Open the file again to estimate it on other accelerators."),
    outcome,
    el("h2", {}, "Accelerators of your own"),
    el("p", { class: "subtle" }, "Any Ethos-U or board, at a clock and with memories that you choose. Each is a target of every report, kept in this browser."),
    own,
    list,
  );
}

/** Every accelerator by size, with the clock that it needs, and in a sentence the smallest that meets the limit. */
function sweepTable(found: Report, { npus }: TargetChoices, limit_ms: number): HTMLElement[] {
  const swept = npus.flatMap(({ id, device, clock_mhz }): Swept[] => {
    const estimates = found.results.filter(isEstimate).filter((result) => result.target === id);
    const latency = estimates.find(({ metric }) => metric === "latency");
    if (!latency) return [];
    const needed_mhz = (clock_mhz * (latency.hi ?? latency.value)) / limit_ms;
    return [{ id, device, clock_mhz, latency, memory: estimates.find(({ metric }) => metric === "sram_peak"), needed_mhz }];
  });
  if (swept.length === 0) {
    const reason = found.results.find((result) => !isEstimate(result));
    return [el("p", { class: "reason" }, `No estimate: ${reason && !isEstimate(reason) ? reason.unavailable : "no accelerator runs it"}.`)];
  }
  const macs = (one: Swept): number => Number(/-(\d+)$/.exec(one.id)?.[1] ?? 0);
  const by_size = swept.toSorted((a, b) => macs(a) - macs(b));
  const best = by_size.find(({ needed_mhz }) => needed_mhz <= MAX_CLOCK_MHZ);
  const words = best
    ? `The smallest that meets ${limit_ms} ms: ${best.device}, from ${Math.ceil(best.needed_mhz)} MHz.`
    : `None meets ${limit_ms} ms at ${MAX_CLOCK_MHZ} MHz or less.`;
  const head = ["Accelerator", "Latency", "at", "90 % interval", "SRAM peak", `For ${limit_ms} ms`].map((name, i) => el("th", { scope: "col", class: i === 0 ? null : "numeric" }, name));
  const rows = by_size.map((one) => {
    const { lo, hi, value, unit } = one.latency;
    const text = (amount: number): string => format.text(format.measure(amount, unit, value));
    return el(
      "tr",
      { "data-npu": one.id, class: one === best ? "chosen" : null },
      el("th", { scope: "row" }, one.device),
      el("td", { class: "numeric" }, text(value)),
      el("td", { class: "numeric" }, `${one.clock_mhz}\u202fMHz`),
      el("td", { class: "numeric subtle" }, lo === undefined || hi === undefined ? "no interval" : `${text(lo)} – ${text(hi)}`),
      el("td", { class: "numeric" }, one.memory ? format.text(format.measure(one.memory.value, one.memory.unit)) : "–"),
      el("td", { class: `numeric ${one.needed_mhz > MAX_CLOCK_MHZ ? "over-clock" : ""}` }, `${Math.ceil(one.needed_mhz).toLocaleString("en")}\u202fMHz`),
    );
  });
  return [
    el("p", { class: "sweep-words" }, words),
    el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Accelerators, scrollable" }, el("table", { class: "sweep-table" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))),
    el("p", { class: "subtle" }, "Each in its default memories, as Vela counts: cycles do not depend on the clock, which memories keep pace with. The clock is that at which the upper end of the interval meets the limit."),
  ];
}

/** Any accelerator or board, with a clock and memories of one's own. */
function ownForm(known: TargetChoices, estimator: Estimator, added: () => void): HTMLElement {
  let ini: { name: string; text: string } | null = null;
  const words = el("p", { class: "doubt", role: "status" });
  const hardware = el(
    "select",
    { id: "own-hardware", onchange: () => setDefaults() },
    el("optgroup", { label: "Accelerators" }, ...known.npus.map(({ id, device }) => el("option", { value: id }, device))),
    el("optgroup", { label: "Boards" }, ...known.boards.map(({ id, name }) => el("option", { value: `board:${id}` }, name))),
  );
  const system = el("select", { id: "own-system" });
  const mode = el("select", { id: "own-mode" });
  const number = (id: string, placeholder: string): HTMLInputElement => el("input", { id, type: "number", min: 0, step: "any", placeholder });
  const clock = number("own-clock", "default");
  const sram = number("own-sram", "default");
  const bandwidth = number("own-bandwidth", "default");
  const ini_name = el("span", { class: "subtle" });
  const setSections = ({ system_configs, memory_modes }: TargetChoices): void => {
    system.replaceChildren(...system_configs.map(({ name, clock_mhz }) => el("option", { value: name }, `${name} (${clock_mhz} MHz)`)));
    mode.replaceChildren(...memory_modes.map((name) => el("option", { value: name }, name)));
    setDefaults();
  };
  const setDefaults = (): void => {
    const npu = known.npus.find(({ id }) => id === hardware.value);
    for (const select of [system, mode]) select.disabled = npu === undefined;
    if (!npu) return;
    if ([...system.options].some(({ value }) => value === npu.system_config)) system.value = npu.system_config;
    if ([...mode.options].some(({ value }) => value === npu.memory_mode)) mode.value = npu.memory_mode;
  };
  const readIni = async (file: File): Promise<void> => {
    const text = await file.slice(0, MAX_INI_CHARACTERS + 1).text();
    try {
      if (text.length > MAX_INI_CHARACTERS) throw new Error(`${file.name}: expected at most ${MAX_INI_CHARACTERS} characters`);
      const found = await estimator.choices(text);
      ini = { name: file.name, text };
      ini_name.textContent = file.name;
      words.textContent = "";
      setSections(found);
    } catch (error) {
      words.textContent = `${file.name}: ${(error as Error).message}`;
    }
  };
  const picker = el("input", { type: "file", id: "own-ini", accept: ".ini,text/plain", hidden: true, onchange: () => void (picker.files?.[0] && readIni(picker.files[0])) });
  const add = (event: Event): void => {
    event.preventDefault();
    const is_board = hardware.value.startsWith("board:");
    const typed = (input: HTMLInputElement, scale: number): number | undefined => (input.value === "" ? undefined : input.valueAsNumber * scale);
    const [clock_mhz, arena_cache_bytes, off_chip_bytes_per_s] = [typed(clock, 1), typed(sram, 1024), typed(bandwidth, 1e9)];
    const parts = [
      hardware.selectedOptions[0].textContent ?? "",
      clock_mhz ? `${clock_mhz} MHz` : "",
      is_board ? "" : system.value,
      is_board ? "" : mode.value,
      arena_cache_bytes ? `${format.text(format.bytes(arena_cache_bytes))} SRAM` : "",
      off_chip_bytes_per_s ? `${off_chip_bytes_per_s / 1e9} GB/s` : "",
      ini && !is_board ? ini.name : "",
    ];
    const place: TargetChoice = is_board
      ? { board: hardware.value.slice("board:".length) }
      : { target: hardware.value, system_config: system.value, memory_mode: mode.value, ...(ini ? { vela_ini: ini.text } : {}) };
    const rates = {
      ...(clock_mhz ? { clock_mhz } : {}),
      ...(arena_cache_bytes ? { arena_cache_bytes: Math.round(arena_cache_bytes) } : {}),
      ...(off_chip_bytes_per_s ? { off_chip_bytes_per_s } : {}),
    };
    const choice = { ...place, ...rates, device: parts.filter(Boolean).join(", ") };
    if (!keepAccelerators(addAccelerator(choice))) words.textContent = "This browser keeps nothing for this page.";
    added();
  };
  setSections(known);
  const form = el(
    "form",
    { class: "own-form", onsubmit: add as EventListener },
    labelled("own-hardware", "Accelerator or board", hardware),
    labelled("own-system", "System configuration", system),
    labelled("own-mode", "Memory mode", mode),
    labelled("own-clock", "Clock, MHz", clock),
    labelled("own-sram", "SRAM, KiB", sram),
    labelled("own-bandwidth", "Off-chip, GB/s", bandwidth),
    el("div", { class: "buttons" }, el("button", { type: "submit" }, "Add"), el("button", { type: "button", onclick: () => picker.click() }, "Read a vela.ini…"), picker, ini_name),
    words,
  );
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    const dropped = event.dataTransfer?.files[0];
    if (!dropped?.name.endsWith(".ini")) return;
    event.preventDefault();
    event.stopPropagation();
    void readIni(dropped);
  });
  return form;
}

function labelled(id: string, label: string, control: HTMLElement): HTMLElement {
  return el("span", { class: "field" }, el("label", { for: id }, label), control);
}
