/** What a network took on another device with the same kind of NPU, by which the chosen one is estimated. */
import { TARGETS } from "../../package/src/catalogue.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import type { Asked } from "../requested_targets.ts";
import type { Report } from "../report.ts";
import { describedTarget, releasesOf } from "../targets.ts";

/** A measurement of the network, as the engine takes it. */
interface Elsewhere {
  measured_on: string;
  measured_ms: number;
}

/** Whether a measurement on another device that has this tells anything here. */
function isCorrectable(target: string): boolean {
  return describedTarget(target)?.options.includes("measured-elsewhere") === true;
}

const deviceIn = (target: string): string => target.split("@")[0];

/** What the estimate of a target was corrected by; null where it was not. */
function elsewhereOf({ results }: Report, target: string): Elsewhere | null {
  const settings = results.find((result) => result.target === target)?.settings;
  const { measured_on, measured_ms } = settings ?? {};
  return typeof measured_on === "string" && typeof measured_ms === "number" ? { measured_on, measured_ms } : null;
}

/** The targets of the report that a measurement on this device corrects, the same for `null` without any. */
function askedAgain({ results }: Report, elsewhere: Elsewhere | null): Asked[] {
  const targets = [...new Set(results.map(({ target }) => target))].filter(isCorrectable);
  return targets.map((target) => ({ target, name: target, ...(elsewhere !== null && deviceIn(target) !== deviceIn(elsewhere.measured_on) ? elsewhere : {}) }));
}

/** The form for one; null where it would tell nothing, or the file is not at hand. `estimate` estimates targets again. */
export function elsewherePart(report: Report, target: string, is_possible: boolean, estimate: (again: readonly Asked[]) => void): HTMLElement | null {
  if (!is_possible || report.batch !== 1 || !isCorrectable(target)) return null;
  const known = elsewhereOf(report, target);
  const device = el("select", { id: "elsewhere-device", required: true }, ...deviceGroups(target, known?.measured_on ?? null));
  const ms = el("input", { id: "elsewhere-ms", type: "number", min: 0, step: "any", required: true, value: known?.measured_ms ?? "" });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (ms.valueAsNumber > 0) estimate(askedAgain(report, { measured_on: device.value, measured_ms: ms.valueAsNumber }));
  };
  const form = el(
    "form",
    { class: "sweep-form", onsubmit: submit as EventListener },
    el("label", { for: "elsewhere-ms" }, "It took"),
    ms,
    " ms on ",
    device,
    el("button", { type: "submit" }, "Estimate by it"),
    known ? el("button", { type: "button", onclick: () => estimate(askedAgain(report, null)) }, "Without it") : null,
  );
  device.setAttribute("aria-label", "Device that it was measured on");
  const words = known ? `Estimated by ${format.text(format.measure(known.measured_ms, "ms"))} measured on ${wordsOf(known.measured_on)}` : "Measured on another Snapdragon?";
  return el(
    "details",
    { class: "elsewhere", open: known !== null },
    el("summary", {}, words),
    el("p", { class: "subtle" }, "What this very network takes there, in the same precision, corrects the estimates of all of Qualcomm's devices in this report, and narrows their intervals. Best under the same runtime."),
    form,
  );
}

function wordsOf(target: string): string {
  const described = describedTarget(target);
  const release = releasesOf(deviceIn(target)).find((other) => other.target === target);
  return `${described?.short_label ?? target}, ${release?.words ?? described?.runtime ?? ""}`;
}

/** Other devices with their runtimes; that of the target first. */
function deviceGroups(target: string, chosen: string | null): HTMLElement[] {
  const runtime = wordsOf(target).split(", ").slice(1).join(", ");
  const ids = Object.keys(TARGETS).filter((id) => isCorrectable(id) && id !== deviceIn(target));
  return ids.map((id) => {
    const ways = releasesOf(id).toSorted((a, b) => Number(b.words === runtime) - Number(a.words === runtime));
    return el("optgroup", { label: describedTarget(id)?.short_label ?? id }, ...ways.map((way) => el("option", { value: way.target, selected: way.target === chosen }, `${describedTarget(id)?.short_label}, ${way.words}`)));
  });
}
