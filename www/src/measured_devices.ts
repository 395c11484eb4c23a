/** Devices from profiles, kept in this browser: each is a target of every report, and what was measured lies beside the estimates. */
import type { Device } from "../package/types/devices.d.ts";
import type { MeasuredDevice } from "./protocol.ts";
import type { Report, TargetChoice } from "./report.ts";
import { idInSpace } from "./targets.ts";

/** Another format gets another key. */
const KEY = "litecast.measured.1";
/** Each is estimated with every file. */
export const MAX_MEASURED_DEVICES = 12;

/** What was parsed last, with its text: every view of a report asks for it. */
let last: { text: string; devices: MeasuredDevice[] } = { text: "[]", devices: [] };

/** Whatever else is stored there counts as nothing. */
export function measuredDevices(): MeasuredDevice[] {
  try {
    const text = localStorage.getItem(KEY) ?? "[]";
    if (text !== last.text) {
      const kept: unknown = JSON.parse(text);
      last = { text, devices: Array.isArray(kept) ? kept.filter(isMeasuredDevice).slice(0, MAX_MEASURED_DEVICES) : [] };
    }
    return last.devices;
  } catch {
    return [];
  }
}

/** Adds a device, in the place of one of its name; false where the browser keeps nothing, or has no room. */
export function keepMeasuredDevice(device: MeasuredDevice): boolean {
  const kept = measuredDevices();
  const place = kept.findIndex(({ document }) => document.name === device.document.name);
  return keep(place < 0 ? [...kept, device].slice(-MAX_MEASURED_DEVICES) : kept.with(place, device));
}

/** Forgets a device. */
export function forgetMeasuredDevice(name: string): boolean {
  return keep(measuredDevices().filter(({ document }) => document.name !== name));
}

function keep(kept: readonly MeasuredDevice[]): boolean {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

/** As the engine estimates on it: without measured operators, which it does not need. */
export function measuredTarget({ document }: MeasuredDevice): TargetChoice & { name: string } {
  const networks = document.networks.map(({ tool, measured_ms }) => ({ tool, measured_ms }));
  return { measured_device: JSON.stringify({ ...document, networks }), name: idInSpace("measured", document.name), device: document.name };
}

/** What a device's profile says of the operators of a report. */
export interface Overlay {
  target: string;
  device: string;
  /** By operator: milliseconds of it, together with those that the runtime ran as one with it. */
  groups: ReadonlyMap<number, { operators: readonly number[]; measured_ms: number }>;
  measured_ms: number;
  /** Lines of the profile that are no operator of the model, and their time. */
  unmatched: readonly string[];
  unmatched_ms: number;
}

const overlays = new WeakMap<Device["networks"][number], Overlay>();

/** The profiles of this very network, as it is. */
export function overlaysOf(report: Pick<Report, "sha256" | "what_if">): Overlay[] {
  if (!report.sha256 || report.what_if) return [];
  return measuredDevices().flatMap(({ document }) => {
    const network = document.networks.find(({ sha256, observations }) => sha256 === report.sha256 && observations.length > 0);
    return network ? [overlayOf(document, network)] : [];
  });
}

function overlayOf({ name }: Device, network: Device["networks"][number]): Overlay {
  const known = overlays.get(network);
  if (known) return known;
  const groups = network.observations.flatMap((group) => group.operators.map((operator) => [operator, group] as const));
  const { measured_ms, unmatched, unmatched_ms } = network;
  const overlay = { target: idInSpace("measured", name), device: name, groups: new Map(groups), measured_ms, unmatched, unmatched_ms };
  overlays.set(network, overlay);
  return overlay;
}

type Check = (value: unknown) => boolean;
const listOf = (isItem: Check): Check => (value) => Array.isArray(value) && value.every(isItem);
const hasFields = (fields: Readonly<Record<string, Check>>): Check => (value) =>
  typeof value === "object" && value !== null && Object.entries(fields).every(([name, isField]) => isField((value as Record<string, unknown>)[name]));
const isText: Check = (value) => typeof value === "string";
const isNumber: Check = Number.isFinite;

const isNetwork = hasFields({
  model: isText,
  sha256: isText,
  tool: isText,
  measured_ms: isNumber,
  observations: listOf(hasFields({ operators: listOf(isNumber), measured_ms: isNumber })),
  unmatched: listOf(isText),
  unmatched_ms: isNumber,
});
const isDocument = hasFields({
  name: isText,
  base: isText,
  networks: (value) => listOf(isNetwork)(value) && (value as unknown[]).length > 0,
  fit: (value) => typeof value === "object" && value !== null,
  left_out: listOf(isNumber),
});
const isFacts = hasFields({
  left_out_percent: (value) => value === null || isNumber(value),
  call_ms: isNumber,
  inference_ms: isNumber,
  kernels: listOf(hasFields({ kernels: isText, factor: isNumber, is_measured: (value) => typeof value === "boolean" })),
});
/** What the page shows of a device: somebody may have changed it, or brought it in a backup. */
const isMeasuredDevice = hasFields({ document: isDocument, facts: isFacts }) as (value: unknown) => value is MeasuredDevice;
