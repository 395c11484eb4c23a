/** The first screen's examples and the targets that there are estimates for. */
import { el } from "../dom.ts";
import type { Example } from "../examples.ts";
import * as format from "../format.ts";
import type { TargetInfo } from "../report.ts";
import { metricName } from "../words.ts";

export function exampleButtons(examples: Example[], open: (example: Example) => void): HTMLElement[] {
  return examples.map((example) =>
    el(
      "button",
      { type: "button", class: "example", onclick: () => open(example) },
      el("strong", {}, example.name),
      el("span", { class: "subtle" }, example.words),
    ),
  );
}

/** Each target with the error measured for its metrics. */
export function targetTable(targets: TargetInfo[]): HTMLElement[] {
  if (targets.length === 0) return [];
  const metrics = [...new Set(targets.flatMap((target) => target.metrics.map(({ metric }) => metric)))];
  const rows = targets.map((target) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, target.device),
      ...metrics.map((metric) => el("td", { class: "numeric" }, errorOf(target, metric))),
      el("td", { class: "subtle learned" }, target.learned_from),
    ),
  );
  const head = ["Target", ...metrics.map(metricName), "Source"].map((name, i) =>
    el("th", { scope: "col", class: i === 0 ? null : i <= metrics.length ? "numeric" : "learned" }, name),
  );
  return [
    el("p", { class: "subtle" }, "Expected error of each estimate, measured on models kept from training or fit:"),
    el("table", { class: "known-targets" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  ];
}

function errorOf(target: TargetInfo, metric: string): string {
  const error = target.metrics.find((candidate) => candidate.metric === metric)?.expected_error_percent;
  return typeof error === "number" ? `±\u202f${format.percent(error)}` : "–";
}
