/** Which network to measure next on a device: of those that are handed out, and of the reader's own. */
import type { NextMeasurement } from "../../package/types/devices.d.ts";
import { fetchBytes } from "../assets.ts";
import { el } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import * as format from "../format.ts";
import type { MeasuredDevice } from "../protocol.ts";
import type { Report } from "../report.ts";
import { keptReport, reportHistory } from "../store.ts";
import { PROBES, probeAddress, probeLink } from "./probes.ts";

/** Networks of one's own whose intervals count: those that were opened last. */
const MAX_OWN = 12;
/** Of the networks that could be measured, those that narrow the intervals most. */
const MAX_SHOWN = 6;

/** What could be measured, computed when a reader asks for it. */
export function nextMeasurement({ document }: MeasuredDevice, estimator: Estimator): HTMLElement {
  const body = el("div", {}, el("p", { class: "subtle" }, "…"));
  let is_asked = false;
  const ask = async (): Promise<void> => {
    if (is_asked) return;
    is_asked = true;
    try {
      const tool = document.networks.at(-1)?.tool ?? "";
      const end = (await estimator.measuringTools(PROBES.map(([name]) => name))).find((one) => one.tool === tool)?.probes ?? "float32.tflite";
      const names = PROBES.map(([name]) => `${name}-${end}`);
      const files = await Promise.all(names.map(async (name) => ({ name, bytes: await fetchBytes(probeAddress(name)) })));
      const reports = await ownReports(document.base);
      body.replaceChildren(...nextElements(await estimator.nextMeasurements(document, files, reports), new Set(names), reports.length));
    } catch (error) {
      is_asked = false;
      body.replaceChildren(el("p", { class: "doubt" }, `${(error as Error).message}.`));
    }
  };
  const details = el("details", { class: "next-measurement" }, el("summary", {}, "What to measure next"), body);
  details.addEventListener("toggle", () => details.open && void ask());
  return details;
}

/** Reports that this browser keeps, as the files are, with parts of a latency on this target: of each file the last one. */
async function ownReports(base: string): Promise<Report[]> {
  const has_base = (results: Report["results"]): boolean => results.some((result) => result.target === base && result.metric === "latency" && "value" in result && result.estimated_as === undefined);
  const opened = (await reportHistory()).filter(({ summary }) => !summary.what_if && has_base(summary.results));
  const last = opened.filter(({ file }, i) => opened.findIndex((other) => other.file === file) === i).slice(0, MAX_OWN);
  const reports = await Promise.all(last.map(({ key }) => keptReport(key).catch(() => null)));
  return reports.filter((report): report is Report => report !== null);
}

function nextElements(next: readonly NextMeasurement[], probes: ReadonlySet<string>, n_own: number): HTMLElement[] {
  const [first] = next;
  if (!first) return [el("p", { class: "subtle" }, "All of them are measured.")];
  const factor = (value: number): string => `× ${format.digits(value)}`;
  const rows = next.slice(0, MAX_SHOWN).map(({ file, estimate_ms, interval_factor, factor_of_all_after }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, probes.has(file) ? probeLink(file, file) : file),
      el("td", { class: "numeric" }, format.text(format.measure(estimate_ms, "ms"))),
      el("td", { class: "numeric" }, factor(interval_factor)),
      el("td", { class: "numeric" }, factor(factor_of_all_after)),
    ),
  );
  const heads = ["Network", "Estimate", "Interval", "All after it"].map((head) => el("th", { scope: "col" }, head));
  const asked = n_own === 0 ? "all of these networks" : n_own === 1 ? "the network that was opened here" : `the ${n_own} networks that were opened here`;
  return [
    el("p", { class: "subtle" }, `The first narrows the intervals of ${asked} most: to the last column, a factor in the mean.`),
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)),
    el("p", {}, el("code", {}, first.command)),
  ];
}
