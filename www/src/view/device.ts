/** A device of one's own: what was measured on it, and what that makes of the estimates. */
import { type Kept, estimatesOf, isCurrent, keep, measurementOf, measurements, nameOf } from "../device.ts";
import { el, quantity } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import * as format from "../format.ts";
import type { Calibrated, Report } from "../report.ts";

/** Fewest that `calibrate` takes. */
const MIN_MEASUREMENTS = 3;

export function devicePanel(report: Report, estimator: Estimator): HTMLElement | null {
  const estimates_ms = estimatesOf(report);
  if (Object.keys(estimates_ms).length === 0) return null;
  const devices = new Map(report.results.map(({ target, device }) => [target, device]));
  const outcome = el("div", { class: "device-outcome", role: "status" });
  const list = el("ul", { class: "device-list" });
  const input = el("input", { type: "number", min: "0", step: "any", id: "measured", placeholder: "12.5", required: true });

  const change = (kept: Kept[]): void => {
    if (!keep(kept)) outcome.replaceChildren(el("p", { class: "doubt" }, "This browser keeps nothing for this page."));
    else void draw();
  };
  const add = (event: Event): void => {
    event.preventDefault();
    const measured_ms = input.valueAsNumber;
    if (!(measured_ms > 0)) return;
    const others = measurements().filter(({ file }) => file !== nameOf(report));
    change([...others, measurementOf(report, measured_ms)]);
  };
  const remove = (file: string): void => change(measurements().filter((kept) => kept.file !== file));

  async function draw(): Promise<void> {
    const kept = measurements().filter(isCurrent);
    list.replaceChildren(...kept.map((measurement) => item(measurement, remove)));
    input.value = String(kept.find(({ file }) => file === nameOf(report))?.measured_ms ?? "");
    outcome.replaceChildren(await words(kept));
  }

  async function words(kept: Kept[]): Promise<HTMLElement> {
    const missing = MIN_MEASUREMENTS - kept.length;
    if (missing > 0) {
      const others = measurements().length - kept.length;
      const stale = others > 0 ? ` ${format.plural(others, "measurement")} of another version of this page: open those files again.` : "";
      return el("p", { class: "subtle" }, `${format.plural(missing, "more measured file")} and every report tells this device's latency.${stale}`);
    }
    try {
      return calibrated(await estimator.calibrate(kept, estimates_ms), devices);
    } catch (error) {
      return el("p", { class: "doubt" }, `No estimate: ${(error as Error).message}`);
    }
  }

  void draw();
  return el(
    "details",
    { class: "device panel", open: measurements().length > 0 },
    el("summary", {}, "Your own device"),
    el(
      "div",
      { class: "device-body" },
      el(
        "form",
        { onsubmit: add as EventListener },
        el("label", { for: "measured" }, "This file, measured:"),
        input,
        el("span", { class: "unit" }, "ms"),
        el("button", { type: "submit" }, "Keep"),
        el("span", { class: "subtle" }, "in this browser alone; from benchmark_model, for example"),
      ),
      list,
      outcome,
    ),
  );
}

function item({ file, measured_ms }: Kept, remove: (file: string) => void): HTMLElement {
  return el(
    "li",
    {},
    `${file}: ${format.text(format.measure(measured_ms, "ms"))} `,
    el("button", { type: "button", class: "link", "aria-label": `Forget ${file}`, onclick: () => remove(file) }, "forget"),
  );
}

function calibrated({ latency_ms, lo_ms, hi_ms, target, n_measurements, left_out_percent }: Calibrated, devices: Map<string, string>): HTMLElement {
  const [low, high] = [format.measure(lo_ms, "ms", latency_ms), format.measure(hi_ms, "ms", latency_ms)];
  return el(
    "p",
    {},
    "This file on your device: ",
    el("strong", { class: "calibrated" }, quantity(format.measure(latency_ms, "ms"))),
    ` (${low[0]} \u2013 ${format.text(high)}), `,
    el(
      "span",
      { class: "subtle" },
      `from ${format.plural(n_measurements, "measurement")} and the estimates for ${devices.get(target) || target}; each measurement, ` +
        `estimated from the others, is off by ${format.percent(left_out_percent)} in the mean`,
    ),
  );
}
