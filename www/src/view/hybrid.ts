/** How a network is shared by an accelerator and a processor, in two sentences and a bar. */
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { type Hybrid, chooseHost, hostsOf, hybridOf, leftWords } from "../hybrid.ts";
import type { Report } from "../report.ts";

const MAX_KINDS = 4;

export function hybridPart(report: Report, target: string, focus: Focus): HTMLElement | null {
  const hybrid = hybridOf(report, target);
  if (!hybrid) return null;
  const { left, n_operators, n_changes } = hybrid;
  const n_run = n_operators - left.length;
  return el(
    "div",
    { class: "hybrid" },
    el(
      "p",
      {},
      el("strong", {}, "Runs in two parts"),
      `: ${n_run.toLocaleString("en")} of ${format.plural(n_operators, "operator")} on the accelerator, ${left.length.toLocaleString("en")} on the processor, with ${format.plural(n_changes, "change")} between them.`,
    ),
    el("p", {}, `Left to the processor: ${leftWords(report, left, MAX_KINDS)}.`),
    ...times(report, hybrid, focus),
  );
}

function times(report: Report, { accelerator_ms, host }: Hybrid, focus: Focus): HTMLElement[] {
  if (!host) return [el("p", { class: "doubt" }, "No processor has an estimate of this network: what its part takes is not known.")];
  const { latency, left_ms } = host;
  const all_ms = accelerator_ms + left_ms;
  const text = (ms: number): string => format.text(format.measure(ms, "ms", all_ms));
  const choose = (): void => {
    chooseHost(select.value);
    focus.refresh();
  };
  const select = el("select", { id: "host", "aria-label": "Processor beside the accelerator", onchange: choose });
  select.append(...hostsOf(report).map(({ target, device }) => el("option", { value: target, selected: target === latency.target }, device)));
  const part = el("span", { class: "hybrid-accelerator" });
  part.style.width = `${all_ms > 0 ? ((100 * accelerator_ms) / all_ms).toFixed(2) : 100}%`;
  return [
    el("p", { class: "hybrid-times" }, `${text(accelerator_ms)} and ${text(left_ms)} on `, select, ` together take ${text(all_ms)}.`),
    el("span", { class: "hybrid-bar", "aria-hidden": "true" }, part),
    el("p", { class: "subtle" }, "The sum has no interval, and leaves out what a change between them takes: nobody measured that."),
  ];
}
