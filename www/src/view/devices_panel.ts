/** Devices of one's own: what was measured on each, and how well that fits; profiles of tools are in `measured_devices.ts`. */
import { type Device, MIN_MEASUREMENTS, addMeasurements, measurementForFit, currentMeasurements, devices, latencyEstimatesOf, keepDevices, measurementOf, nameOf, readMeasurements } from "../measured_latencies.ts";
import { el, keepingFocus } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import { csv } from "../export/csv.ts";
import * as format from "../format.ts";
import type { Report } from "../report.ts";
import { measuredDevices } from "../measured_devices.ts";
import type { Asked } from "../requested_targets.ts";
import { describedTarget } from "../targets.ts";
import { onFileDropped } from "./file_drop.ts";
import { PROFILE_NAME, measuredDeviceItems, profileInput } from "./measured_devices.ts";
import { probeList } from "./probes.ts";
import { saveButton } from "./save_button.ts";
import type { Opened } from "./what_if.ts";

/** A fit whose left-out measurements are off by more than this in the mean, in percent, is called doubtful. */
const DOUBTFUL_PERCENT = 30;
const NAME_KEY = "litecast.device";
/** Of a table of measurements: a thousand lines have a tenth of it. */
const MAX_TABLE_BYTES = 1024 ** 2;

/** The panel, which takes a profile as if it had been dropped there. */
export interface DevicePanel extends HTMLDetailsElement {
  takeProfile(file: File): void;
}

/** `changed` is called after every change of what was measured, with targets whose estimates are others. */
export function devicePanel(report: Report, opened: Opened, estimator: Estimator, changed: (again?: readonly Asked[]) => void): DevicePanel | null {
  const estimates_ms = latencyEstimatesOf(report);
  if (Object.keys(estimates_ms).length === 0) return null;
  const targets = new Map(report.results.map(({ target, device }) => [target, device]));
  const list = el("div", { class: "device-list" });
  const outcome = el("p", { class: "device-outcome", role: "status" });
  const { names, name, measured } = measuredFields();

  const change = (kept: Device[], words: string): void => {
    outcome.textContent = keepDevices(kept) ? words : "This browser keeps nothing for this page.";
    sessionStorage.setItem(NAME_KEY, name.value);
    void draw();
    changed();
  };
  const add = (event: Event): void => {
    event.preventDefault();
    const measured_ms = measured.valueAsNumber;
    if (!(measured_ms > 0) || name.value.trim() === "") return;
    change(addMeasurements(devices(), [{ device: name.value.trim(), measurement: measurementOf(report, measured_ms) }]), `Kept for ${name.value.trim()}.`);
  };
  const tables = tableInput(
    () => name.value.trim() || "My device",
    (added, words) => change(addMeasurements(devices(), added), words),
    (words) => (outcome.textContent = words),
  );

  const profiles = profileInput(
    opened,
    estimator,
    () => name.value.trim() || "My device",
    (words) => (outcome.textContent = words),
    (again) => {
      sessionStorage.setItem(NAME_KEY, name.value);
      void draw();
      changed(again);
    },
  );

  const takeDroppedFile = async (file: File): Promise<void> => {
    panel.open = true;
    panel.scrollIntoView({ block: "nearest" });
    await ((await isTable(file)) || file.size === 0 ? tables.takeFile(file) : profiles.take(file, file.name));
  };

  /** Draws that were begun. */
  let n_draws = 0;
  async function draw(): Promise<void> {
    const draw_idx = ++n_draws;
    const kept = devices();
    names.replaceChildren(...[...measuredDevices().map(({ document }) => document), ...kept].map((device) => el("option", { value: device.name })));
    measured.value = String(kept.find((device) => device.name === name.value)?.measurements.find(({ file }) => file === nameOf(report))?.measured_ms ?? "");
    const lines = await Promise.all(kept.map((device) => deviceItem(device, (words) => change(words, ""), estimator, estimates_ms, targets)));
    const labelOf = (target: string): string => targets.get(target) ?? describedTarget(target)?.short_label ?? target;
    const parts = [...measuredDeviceItems(estimator, labelOf, () => (void draw(), changed())), ...lines];
    // Fits are made in several workers: an older one that ends later is of devices as they were.
    if (draw_idx === n_draws) await keepingFocus(list, () => list.replaceChildren(...parts));
  }

  void draw();
  const body = el("div", { class: "device-body" }, measuredForm([name, names, measured], add), profiles.element, probeList(estimator, () => measuredDevices().at(-1)?.document.networks.at(-1)?.tool), importForm(tables), list, outcome);
  const panel = el("details", { class: "device panel", open: devices().length + measuredDevices().length > 0 }, el("summary", {}, "Your devices"), body);
  panel.addEventListener("toggle", () => panel.open && estimator.expectProfile());
  onFileDropped(panel, PROFILE_NAME, (file) => void takeDroppedFile(file));
  return Object.assign(panel, { takeProfile: (file: File) => void takeDroppedFile(file) });
}

/** What is typed of a measurement: the device, its known names, and the milliseconds. */
function measuredFields(): { names: HTMLElement; name: HTMLInputElement; measured: HTMLInputElement } {
  const known = sessionStorage.getItem(NAME_KEY) ?? measuredDevices()[0]?.document.name ?? devices()[0]?.name ?? "My device";
  return {
    names: el("datalist", { id: "device-names" }),
    name: el("input", { id: "device-name", list: "device-names", required: true, maxlength: 60, value: known }),
    measured: el("input", { type: "number", min: "0", step: "any", id: "measured", placeholder: "12.5", required: true }),
  };
}

/** A table of measured files, which may name devices, is no profile of one file. */
async function isTable(file: File): Promise<boolean> {
  return /\.csv$/i.test(file.name) && file.size <= MAX_TABLE_BYTES && isTableOfFiles(await readMeasurements(await file.text().catch(() => ""), ""));
}

/** Tables of measured files, as text or as a file. */
interface TableInput {
  take(text: string): Promise<void>;
  takeFile(file: File): Promise<void>;
}

/** Lines without a device are of `deviceName`; `keep` is called with what was read and words about it, `say` where a file could not be read. */
function tableInput(deviceName: () => string, keep: (added: ReadTable["added"], words: string) => void, say: (words: string) => void): TableInput {
  const take = async (text: string): Promise<void> => {
    const table = await readMeasurements(text, deviceName());
    keep(table.added, tableWords(table));
  };
  const takeFile = async (file: File): Promise<void> => {
    try {
      if (file.size > MAX_TABLE_BYTES) throw new Error(`expected a table of at most ${format.text(format.bytes(MAX_TABLE_BYTES))}, found ${format.text(format.bytes(file.size))}`);
      await take(await file.text());
    } catch (error) {
      say(`${file.name} could not be read: ${(error as Error).message}.`);
    }
  };
  return { take, takeFile };
}

type ReadTable = Awaited<ReturnType<typeof readMeasurements>>;

/** What was read of a table, and what was refused. */
function tableWords({ added, refused }: ReadTable): string {
  const unopened = added.filter(({ measurement }) => measurement.estimates_ms === null).length;
  const words = [
    `${format.plural(added.length, "measurement")} read`,
    unopened > 0 ? `${unopened} of ${unopened === 1 ? "a file that was" : "files that were"} not opened here yet: drop ${unopened === 1 ? "that file" : "those files"}` : "",
    ...refused.slice(0, 3),
    refused.length > 3 ? `and ${format.plural(refused.length - 3, "more line")}` : "",
  ];
  return `${words.filter(Boolean).join("; ")}.`;
}

/** Whether every line was one of a file: with the ending of one, or opened here before. */
function isTableOfFiles({ added, refused }: ReadTable): boolean {
  const is_file = ({ measurement }: (typeof added)[number]): boolean => measurement.estimates_ms !== null || /\.[a-z]\w*$/i.test(measurement.file);
  return added.length > 0 && refused.length === 0 && added.every(is_file);
}

function measuredForm([name, names, measured]: readonly [HTMLElement, HTMLElement, HTMLElement], add: (event: Event) => void): HTMLElement {
  return el(
    "form",
    { onsubmit: add as EventListener },
    el("label", { for: "device-name" }, "Device"),
    name,
    names,
    el("label", { for: "measured" }, "This file, measured:"),
    measured,
    el("span", { class: "unit" }, "ms"),
    el("button", { type: "submit" }, "Keep"),
    el("span", { class: "subtle" }, "in this browser alone; from benchmark_model, for example"),
  );
}

function importForm(tables: TableInput): HTMLElement {
  const picker = el("input", { type: "file", accept: ".csv,text/csv,text/plain", hidden: true, onchange: () => void (picker.files?.[0] && tables.takeFile(picker.files[0])) });
  const pasted = el("textarea", { rows: 3, id: "measurements-csv", placeholder: "device, file.tflite, 12.5" });
  return el(
    "details",
    { class: "device-csv" },
    el("summary", {}, "Import and export"),
    el("label", { for: "measurements-csv" }, "Lines of device, file, milliseconds (5.2, or 5,2 between semicolons or tabs); a CSV file can be dropped here:"),
    pasted,
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", onclick: () => void tables.take(pasted.value) }, "Import text"),
      el("button", { type: "button", onclick: () => picker.click() }, "Import CSV file…"),
      saveButton("Export CSV", "measurements.csv", "text/csv", () =>
        csv([["device", "file", "measured_ms"], ...devices().flatMap((device) => device.measurements.map(({ file, measured_ms }) => [device.name, file, measured_ms]))]),
      ),
      picker,
    ),
  );
}

async function deviceItem(device: Device, change: (kept: Device[]) => void, estimator: Estimator, estimates_ms: Record<string, number>, targets: Map<string, string>): Promise<HTMLElement> {
  const without = (file: string): Device[] =>
    devices().map((other) => (other.name === device.name ? { ...other, measurements: other.measurements.filter((kept) => kept.file !== file) } : other));
  const items = device.measurements.map(({ file, measured_ms, estimates_ms }) =>
    el(
      "li",
      {},
      `${file}: ${format.text(format.measure(measured_ms, "ms"))}${estimates_ms === null ? " (not opened here yet)" : ""} `,
      el("button", { type: "button", class: "link", "aria-label": `Forget ${file} on ${device.name}`, onclick: () => change(without(file)) }, "forget"),
    ),
  );
  return el("section", { class: "device-item", "data-device": device.name }, el("h3", {}, device.name), await fitWords(device, estimator, estimates_ms, targets), el("ul", { class: "plain" }, ...items));
}

/** How far measurements are off that were estimated from the others. */
async function fitWords(device: Device, estimator: Estimator, estimates_ms: Record<string, number>, targets: Map<string, string>): Promise<HTMLElement> {
  const current = currentMeasurements(device);
  const missing = MIN_MEASUREMENTS - current.length;
  if (missing > 0) {
    const others = device.measurements.length - current.length;
    const stale = others > 0 ? ` ${format.plural(others, "measurement")} ${others === 1 ? "lacks" : "lack"} estimates of this version of the page: open ${others === 1 ? "that file" : "those files"}.` : "";
    return el("p", { class: "subtle" }, `${format.plural(missing, "more measured file")} and every report tells this device's latency.${stale}`);
  }
  try {
    const { left_out_percent, n_measurements, target } = await estimator.calibrate(current.map(measurementForFit), estimates_ms);
    const words =
      `Fitted to ${format.plural(n_measurements, "measurement")} and the estimates for ${targets.get(target) || target}; ` +
      `each measurement, estimated from the others, is off by ${format.percent(left_out_percent)} in the mean.`;
    const is_doubtful = left_out_percent > DOUBTFUL_PERCENT;
    return el("p", { class: is_doubtful ? "fit doubt" : "fit subtle" }, is_doubtful ? `Doubtful: ${words.charAt(0).toLowerCase()}${words.slice(1)} Check the measurements.` : words);
  } catch (error) {
    return el("p", { class: "doubt" }, `No estimate: ${(error as Error).message}`);
  }
}
