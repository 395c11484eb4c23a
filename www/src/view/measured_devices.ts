/** Devices from profiles: what a benchmark tool printed goes in, and each device says how sure it is. */
import type { Device } from "../../package/types/devices.d.ts";
import { el } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import * as format from "../format.ts";
import { KnownError } from "../worker_messenger.ts";
import type { MeasuredDevice } from "../protocol.ts";
import { forgetMeasuredDevice, keepMeasuredDevice, measuredDevices, measuredTarget } from "../measured_devices.ts";
import type { Asked } from "../requested_targets.ts";
import { nextMeasurement } from "./next_measurement.ts";
import { saveButton } from "./save_button.ts";
import type { Opened } from "./what_if.ts";

/** A device whose networks are off by more than this when they are left out, in percent: as the engine's. */
const DOUBTFUL_PERCENT = 25;
/** As the engine's of a profile. */
const MAX_PROFILE_BYTES = 64 * 1024 ** 2;
/** Lines without an operator that are listed. */
const MAX_LISTED = 5;

/** What profiles are called: `.json` may be a model, too. */
export const PROFILE_NAME = /\.(csv|tsv|txt|log|json)$/i;

/** Whether a file with the name of a profile is none of a model. */
export async function isProfile(file: File): Promise<boolean> {
  if (!/\.json$/i.test(file.name)) return true;
  const start = await file.slice(0, 1024).text().catch(() => "");
  return /^\s*\[/.test(start) || isDevice(start);
}

const isDevice = (start: string): boolean => /^\s*\{\s*"litecast_device"/.test(start);

/** Takes what was dropped, picked or pasted. */
export interface ProfileInput {
  element: HTMLElement;
  take(profile: Blob, name: string): Promise<void>;
}

/** `changed` is told of a device that is new or another. */
export function profileInput({ file, scenario }: Opened, estimator: Estimator, nameOf: () => string, say: (words: string) => void, changed: (again: readonly Asked[]) => void): ProfileInput {
  const clock = el("input", { type: "number", min: "0", step: "any", id: "profile-clock" });
  const clock_line = el("p", { hidden: true }, el("label", { for: "profile-clock" }, "This tool counts cycles. Their clock: "), clock, el("span", { class: "unit" }, " MHz"));
  const like = el("select", { id: "profile-like" }, el("option", { value: "" }, "what its tool names, or a processor"), el("option", { value: "phones-and-boards" }, "the NPU of a phone or board"));
  const like_line = el("p", {}, el("label", { for: "profile-like" }, "What ran it: "), like);
  /** What waits for a clock. */
  let waiting: { profile: Blob; name: string } | null = null;

  const keep = (device: MeasuredDevice, words: string): void => {
    if (!keepMeasuredDevice(device)) return say("This browser keeps nothing for this page, or has no room: export other devices and forget them.");
    say(words);
    changed([measuredTarget(device)]);
  };

  const measure = async (profile: Blob, profile_name: string): Promise<void> => {
    if (!file) throw new KnownError("no-file", "open the file again to add what was measured of it");
    const name = nameOf();
    const known = measuredDevices().find(({ document }) => document.name === name)?.document ?? null;
    const clock_mhz = clock.valueAsNumber > 0 ? clock.valueAsNumber : null;
    const device = await estimator.measure(file, { scenario, name, profile: await profile.arrayBuffer(), profile_name, clock_mhz, like: like.value || null, known });
    keep(device, `${name}: ${format.plural(device.document.networks.length, "measured network")}. Every report has it among its targets.`);
  };

  const take = async (profile: Blob, name: string): Promise<void> => {
    try {
      if (profile.size > MAX_PROFILE_BYTES) throw new Error(`expected at most ${format.text(format.bytes(MAX_PROFILE_BYTES))}, found ${format.text(format.bytes(profile.size))}`);
      const start = await profile.slice(0, 1024).text();
      if (isDevice(start)) {
        const device = await estimator.readDevice(await profile.arrayBuffer());
        return keep(device, `${device.document.name}: imported with ${format.plural(device.document.networks.length, "measured network")}.`);
      }
      await measure(profile, name);
      clock_line.hidden = true;
    } catch (error) {
      const needs_clock = error instanceof KnownError && error.kind === "no-clock";
      clock_line.hidden = !needs_clock;
      waiting = needs_clock ? { profile, name } : null;
      if (needs_clock) clock.focus();
      say(`${name}: ${(error as Error).message}.`);
    }
  };

  clock.addEventListener("change", () => void (waiting && take(waiting.profile, waiting.name)));
  const picker = el("input", { type: "file", accept: ".csv,.tsv,.txt,.log,.json", hidden: true, "aria-label": "Profile", onchange: () => void (picker.files?.[0] && take(picker.files[0], picker.files[0].name)) });
  const pasted = el("textarea", { rows: 2, id: "profile-text", spellcheck: "false", placeholder: "Paste here what a benchmark tool printed of this file, or drop it on the page" });
  pasted.addEventListener("paste", () => setTimeout(() => void takePasted()));
  const takePasted = async (): Promise<void> => {
    if (pasted.value.trim() === "") return;
    const text = pasted.value;
    pasted.value = "";
    await take(new Blob([text]), "pasted profile");
  };
  const element = el(
    "div",
    { class: "profile-input" },
    el("label", { for: "profile-text" }, "What a benchmark tool printed of this file on the device, or a device (JSON):"),
    pasted,
    like_line,
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", onclick: () => void takePasted() }, "Read text"),
      el("button", { type: "button", onclick: () => ((picker.value = ""), picker.click()) }, "Open a profile…"),
      el("span", { class: "subtle" }, "ONNX Runtime, OpenVINO, LiteRT and TensorFlow Lite, TensorFlow Lite Micro, Vela, ExecuTorch, ncnn, MNN, ST Edge AI, or a table"),
      picker,
    ),
    clock_line,
  );
  return { element, take };
}

/** Every device from profiles; `changed` is told when one is forgotten. */
export function measuredDeviceItems(estimator: Estimator, labelOf: (target: string) => string, changed: () => void): HTMLElement[] {
  return measuredDevices().map((device) => item(device, estimator, labelOf, changed));
}

function item(device: MeasuredDevice, estimator: Estimator, labelOf: (target: string) => string, changed: () => void): HTMLElement {
  const { document, facts } = device;
  const forget = (): void => {
    forgetMeasuredDevice(document.name);
    changed();
  };
  const unmeasured = facts.kernels.filter(({ is_measured }) => !is_measured).map(({ kernels }) => kernels);
  return el(
    "section",
    { class: "device-item", "data-measured": document.name },
    el("h3", {}, document.name),
    sureness(device, labelOf),
    el("ul", { class: "plain" }, ...document.networks.map((network, i) => el("li", {}, networkWords(network, document.left_out[i])))),
    ...document.networks.filter(({ unmatched }) => unmatched.length > 0).map(unmatchedWords),
    unmeasured.length > 0 ? el("p", { class: "subtle" }, unmeasuredWords(unmeasured, facts.kernels.length)) : null,
    factorTable(device),
    nextMeasurement(device, estimator),
    el(
      "div",
      { class: "buttons" },
      saveButton("Export device", `${fileName(document.name)}.json`, "application/json", () => `${JSON.stringify(document)}\n`),
      el("button", { type: "button", class: "link", "aria-label": `Forget ${document.name}`, onclick: forget }, "forget"),
    ),
  );
}

function unmeasuredWords(unmeasured: readonly string[], n_kernels: number): string {
  if (unmeasured.length === n_kernels) return "The measurements do not tell kernels of different classes apart: each is as expected beside the others.";
  return `No measurement tells how fast these are: ${unmeasured.join(", ")}. They are as expected beside the others.`;
}

function sureness({ document, facts }: MeasuredDevice, labelOf: (target: string) => string): HTMLElement {
  const n = document.networks.length;
  const base = `${format.plural(n, "measured network")} on ${document.kernels === "ncnn" ? "what ncnn's kernels are expected to take" : `the operators of ${labelOf(document.base)}`}`;
  if (facts.left_out_percent === null) return el("p", { class: "subtle" }, `${base}. A second one tells how far estimates are off.`);
  const error = `each, estimated from the others, is off by ${format.percent(facts.left_out_percent)} in the mean`;
  const is_doubtful = facts.left_out_percent > DOUBTFUL_PERCENT;
  return el("p", { class: is_doubtful ? "fit doubt" : "fit subtle" }, `${is_doubtful ? "Doubtful: " : ""}${base}; ${error}. The interval promises no level.`);
}

function networkWords({ model, measured_ms }: Device["networks"][number], left_out: number | undefined): string {
  const ms = (value: number): string => format.text(format.measure(value, "ms"));
  const from_others = left_out === undefined ? "" : `, from the others ${ms(measured_ms * Math.exp(-left_out))}`;
  return `${model}: ${ms(measured_ms)}${from_others}`;
}

function unmatchedWords({ model, unmatched, unmatched_ms, measured_ms }: Device["networks"][number]): HTMLElement {
  const more = unmatched.length > MAX_LISTED ? ` and ${unmatched.length - MAX_LISTED} more` : "";
  const share = format.percent((100 * unmatched_ms) / measured_ms);
  return el("p", { class: "subtle unmatched" }, `${model}: no operator of the model for ${unmatched.slice(0, MAX_LISTED).join(", ")}${more}; ${share} of the time.`);
}

function factorTable({ facts, document }: MeasuredDevice): HTMLElement {
  const rows = facts.kernels.map(({ kernels, factor, is_measured }) => el("tr", {}, el("th", { scope: "row" }, kernels), el("td", { class: "numeric" }, `× ${format.digits(factor)}`), el("td", {}, is_measured ? "measurements" : "nothing")));
  const ms = (value: number): string => format.text(format.measure(value, "ms"));
  return el(
    "details",
    { class: "device-factors" },
    el("summary", {}, "Factors"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Kernels"), el("th", { scope: "col" }, document.kernels === "ncnn" ? "On what is expected" : `On ${document.base}`), el("th", { scope: "col" }, "Told by"))), el("tbody", {}, ...rows)),
    el("p", { class: "subtle" }, `Each call of a kernel takes ${ms(facts.call_ms)}, and each inference ${ms(facts.inference_ms)}, beside.`),
  );
}

function fileName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "") || "device";
}
