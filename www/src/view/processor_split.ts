/** How a network is shared by an accelerator and a processor, in two sentences and a bar. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { readHost } from "../host.ts";
import { type Hybrid, hybridOf, leftWords } from "../processor_split.ts";
import type { Host, LeftOut, Report } from "../report.ts";
import type { Selection } from "../selection.ts";
import { doubtWords } from "../words.ts";
import type { MoreTargets } from "./target_groups.ts";

const MAX_KINDS = 4;

/** What an accelerator leaves to a processor, and the choice of that processor; null where it leaves nothing. */
export function hybridPart(report: Report, target: string, selection: Selection, more: MoreTargets): HTMLElement | null {
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
    leftList(report, hybrid, selection),
    ...times(hybrid, more),
  );
}

/** Every operator that the processor runs, with what it takes there and why; made once it is opened. */
function leftList({ operators }: Report, { left, whole }: Hybrid, selection: Selection): HTMLElement {
  const list = el("ol", { class: "left-list plain" });
  const item = ({ operator, reason }: LeftOut): HTMLElement => {
    const ms = "left_ms" in whole ? whole.latency.operators?.[operator] : undefined;
    const time = ms === undefined ? "" : `, ${format.text(format.measure(ms, "ms"))}`;
    const show = el("button", { type: "button", class: "link", onclick: () => selection.select(operator, "diagnostics") }, `#${operator} ${operators[operator]?.name}`);
    return el("li", {}, show, `${time}: ${reason}`);
  };
  const fill = (): void => {
    if (list.childElementCount === 0) list.append(...left.map(item));
  };
  return el("details", { ontoggle: fill }, el("summary", {}, left.length === 1 ? "Show it" : `List all ${left.length.toLocaleString("en")}`), list);
}

function times({ host, whole }: Hybrid, more: MoreTargets): HTMLElement[] {
  const on_host = hostChoice(host, more);
  if (!("left_ms" in whole)) return [el("p", { class: "hybrid-times doubt" }, "What its part takes on ", on_host, ` is not known: ${whole.unavailable}.`)];
  const { latency, left_ms } = whole;
  if (left_ms === null) return [];
  const text = (ms: number): string => format.text(format.measure(ms, "ms", latency.value));
  const part = el("span", { class: "hybrid-accelerator" });
  part.style.width = `${latency.value > 0 ? ((100 * (latency.value - left_ms)) / latency.value).toFixed(2) : 100}%`;
  return [
    el("p", { class: "hybrid-times" }, `${text(latency.value - left_ms)} and ${text(left_ms)} on `, on_host, ` together take ${text(latency.value)}, ${doubtWords(latency)}.`),
    el("span", { class: "hybrid-bar", "aria-hidden": "true" }, part),
    el("p", { class: "subtle" }, "Nobody measured a network in parts: the interval adds up those of both, and what the changes between them may take."),
  ];
}

/** Only in words where the file is not at hand, which another processor would need. */
function hostChoice(host: Host | null, { is_possible, hosts, chooseHost }: MoreTargets): HTMLElement | string {
  if (!is_possible || !host) return host?.device ?? "a processor";
  const select = el("select", { id: "host", "aria-label": "Processor beside the accelerator", onchange: () => chooseHost(select.value || null) });
  const others = hosts.filter(({ id }) => id !== host.id);
  select.append(...[host, ...others].map(({ id, device }) => el("option", { value: id, selected: id === host.id }, device)));
  if (readHost() !== null) select.append(el("option", { value: "" }, "The usual one of each accelerator"));
  return select;
}
