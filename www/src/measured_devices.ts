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

function isMeasuredDevice(value: unknown): value is MeasuredDevice {
  const { document, facts } = (value ?? {}) as Partial<MeasuredDevice>;
  if (typeof document !== "object" || document === null || typeof facts !== "object" || facts === null) return false;
  const { name, networks, fit, left_out } = document;
  return (
    typeof name === "string" &&
    Array.isArray(networks) &&
    networks.length > 0 &&
    networks.every((network: Partial<Device["networks"][number]> | null) => typeof network?.measured_ms === "number" && typeof network.model === "string" && Array.isArray(network.observations) && Array.isArray(network.unmatched)) &&
    typeof fit === "object" &&
    Array.isArray(left_out) &&
    Array.isArray(facts.kernels)
  );
}
