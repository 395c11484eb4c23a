/** A network on a GPU by batch: where throughput stops growing, and what fits which memory. */
import { el } from "../dom.ts";
import { type Estimator, type FileBytes, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { BatchPoint, BatchSweep, Report, TargetInfo } from "../report.ts";
import { label, node } from "../svg.ts";
import { roundTicks } from "../ticks.ts";
import type { MoreTargets } from "./target_groups.ts";
import type { Opened } from "./what_if.ts";
import { evidenceMark, markedEvidence, asSentence } from "../words.ts";

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 64;
const BOTTOM = 34;
const TOP = 30;
const SPACE = 18;
/** Of the throughput's axis, at the most. */
const N_STEPS = 4;

/** Time and memory by batch size on a GPU. */
export function batchSweepPanel(report: Report, { file, scenario }: Opened, estimator: Estimator, focus: Focus, more: MoreTargets, signal: AbortSignal): HTMLElement {
  if (!file) return el("p", { class: "subtle" }, "Open the file again to estimate it on GPUs.");
  const outcome = el("div", { class: "sweep", role: "status" });
  const note = el("p", { class: "subtle" }, "Loading the constants of GPUs, 0.2 MB…");
  const panel = el("div", { class: "batch-sweep" }, note);
  let read: Promise<FileBytes> | null = null;
  /** The last one that was chosen: an answer for another comes too late. */
  let chosen = "";
  const show = async (gpu: string): Promise<void> => {
    chosen = gpu;
    try {
      read ??= readFile(file).then((bytes) => ({ name: report.file, bytes }));
      const swept = await estimator.sweepBatch(await read, scenario, gpu);
      if (signal.aborted || chosen !== gpu) return;
      if (swept) outcome.replaceChildren(...sweepParts(swept));
      else outcome.replaceChildren(el("p", { class: "reason" }, "No estimate: no network that was measured on this GPU spends time on what this one is made of."));
    } catch (error) {
      if (!signal.aborted && chosen === gpu) outcome.replaceChildren(el("p", { class: "doubt" }, asSentence((error as Error).message)));
    }
  };
  const start = (gpus: TargetInfo[]): void => {
    const wanted = focus.targetIn(report);
    const select = el("select", { id: "sweep-gpu", onchange: () => void show(select.value) });
    select.append(...gpus.map(({ id, device }) => el("option", { value: id, selected: id === wanted }, device)));
    const choose = el("button", { type: "button", onclick: () => more.choose(select.value) }, "Make it the target");
    panel.replaceChildren(el("div", { class: "sweep-form" }, el("label", { for: "sweep-gpu" }, "Every batch on"), select, choose), outcome);
    void show(select.value);
  };
  void estimator.loaded("gpus").then(start, (error: unknown) => (note.textContent = asSentence((error as Error).message)));
  return panel;
}

function sweepParts(sweep: BatchSweep): HTMLElement[] {
  return [
    el("p", { class: "sweep-words" }, kneeWords(sweep)),
    el("p", { class: "subtle" }, evidenceOfSweep(sweep)),
    ...sweep.diagnostics.map(({ severity, message }) => el("p", { class: severity === "warning" ? "doubt" : "subtle" }, asSentence(message))),
    el("div", { class: "sweep-figures" }, drawing(sweep), memoryTable(sweep)),
    el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Batches, scrollable" }, pointsTable(sweep)),
    el("p", { class: "subtle" }, "Memory is counted by rules, and slices by that count with a tenth to spare: nobody measured this network there. SGD is with momentum."),
  ];
}

function kneeWords({ points, knee_batch }: BatchSweep): string {
  const throughput = (batch: number): string => format.digits(points.find((point) => point.batch === batch)?.throughput ?? 0);
  const last = points[points.length - 1].batch;
  if (knee_batch === last) return `Throughput still grows at batch ${last.toLocaleString("en")}: ${throughput(last)} inferences a second.`;
  return `Batch ${knee_batch.toLocaleString("en")} is the smallest with at least 90 % of the best throughput: ${throughput(knee_batch)} inferences a second.`;
}

/** What the latencies rest on, and how far they were off. */
function evidenceOfSweep(sweep: BatchSweep): string {
  const { expected_error_percent: error, points } = sweep;
  const far = error === undefined ? "" : `, off by ${format.percent(error)} in the mean with a family of networks left out`;
  const n_host = points.filter(({ is_launch_bound }) => is_launch_bound).length;
  const host = n_host === 0 ? "" : ` Of ${n_host} of the ${points.length} batches the time is that in which the host starts the kernels, which is assumed.`;
  return `Latencies: ${markedEvidence(sweep)}${far}.${host}`;
}

/** Throughput by batch; the largest batches that fit memories as marks above. */
function drawing(sweep: BatchSweep): SVGElement {
  const { points, knee_batch } = sweep;
  const last = points[points.length - 1].batch;
  const y_end = Math.max(...points.map(({ throughput }) => throughput)) * 1.05;
  const at_x = (batch: number): number => LEFT + (Math.log2(batch) / Math.log2(last)) * (WIDTH - LEFT - SPACE);
  const at_y = (throughput: number): number => HEIGHT - BOTTOM - (throughput / y_end) * (HEIGHT - BOTTOM - TOP);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sweep-drawing", role: "img", "aria-label": "Throughput by batch; the table below has the same numbers" });
  for (const y of roundTicks(0, y_end, N_STEPS)) {
    svg.append(node("line", { class: "axis", x1: LEFT, x2: WIDTH - SPACE, y1: at_y(y), y2: at_y(y) }), label(format.digits(y), LEFT - 8, at_y(y) + 4, "end"));
  }
  for (const { batch } of points) svg.append(label(String(batch), at_x(batch), HEIGHT - BOTTOM + 16, "middle"));
  svg.append(label("batch", WIDTH - SPACE, HEIGHT - 3, "end"), label("inferences/s", 4, 12, "start"));
  for (const { memory_gib, inference_batch } of sweep.fits.filter(({ inference_batch: batch }) => batch >= 1 && batch < last)) {
    const x = at_x(inference_batch);
    svg.append(node("line", { class: "memory", x1: x, x2: x, y1: TOP - 6, y2: HEIGHT - BOTTOM }), label(`${memory_gib} GB`, x, TOP - 10, "middle"));
  }
  const x = at_x(knee_batch);
  // At the last batch throughput still grows: that is no knee.
  if (knee_batch !== points.at(-1)?.batch) svg.append(node("line", { class: "knee", x1: x, x2: x, y1: at_y(y_end / 1.05), y2: HEIGHT - BOTTOM }), label("knee", x - 5, HEIGHT - BOTTOM - 6, "end"));
  svg.append(node("polyline", { class: "front", points: points.map(({ batch, throughput }) => `${at_x(batch)},${at_y(throughput)}`).join(" ") }));
  for (const { batch, throughput, fits } of points) svg.append(node("circle", { class: fits ? "fits" : "too-large", cx: at_x(batch), cy: at_y(throughput), r: 4 }));
  return svg;
}

function memoryTable({ fits }: BatchSweep): HTMLElement {
  const batch = (n: number): string => (n === 0 ? "none" : n.toLocaleString("en"));
  const rows = fits.map(({ memory_gib, inference_batch, training_batch, sgd_batch }) =>
    el("tr", {}, el("th", { scope: "row" }, `${memory_gib}\u202fGB`), ...[inference_batch, training_batch, sgd_batch].map((fitting) => el("td", { class: "numeric" }, batch(fitting)))),
  );
  const head = ["Memory", "Inference", "Adam", "SGD"].map((name, i) => el("th", { scope: "col", class: i > 0 ? "numeric" : null }, name));
  return el("table", { class: "memory-table" }, el("caption", {}, "Largest batch that fits"), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

function pointsTable({ points, knee_batch, sliced_gpus }: BatchSweep): HTMLElement {
  const trains = points.some(({ training_step_ms }) => training_step_ms !== undefined);
  const heads = ["Batch", "Latency", "Interval", "Inferences/s", "Memory", ...(trains ? ["Training step"] : []), "Adam memory", "SGD memory", ...sliced_gpus.map((gpu) => `Slice of ${gpu}`)];
  const numeric = (text: string): HTMLElement => el("td", { class: "numeric" }, text);
  const ms = (value: number, like = value): string => format.text(format.measure(value, "ms", like));
  const row = (point: BatchPoint): HTMLElement => {
    const { batch, latency_ms, latency_lo_ms, latency_hi_ms, is_launch_bound, throughput, memory_bytes, training_step_ms, training_memory_bytes, sgd_memory_bytes, fits, slices } = point;
    return el(
      "tr",
      { class: batch === knee_batch ? "chosen" : null },
      el("th", { scope: "row", class: "numeric" }, String(batch)),
      el("td", { class: "numeric", title: is_launch_bound ? "The host's time, assumed" : null }, `${is_launch_bound ? `${evidenceMark({ evidence: "assumed" })} ` : ""}${ms(latency_ms)}`),
      el("td", { class: "numeric subtle" }, `${format.measure(latency_lo_ms, "ms", latency_ms)[0]} \u2013 ${format.measure(latency_hi_ms, "ms", latency_ms)[0]}`),
      numeric(format.digits(throughput)),
      el("td", { class: `numeric ${fits ? "" : "short"}` }, `${format.text(format.bytes(Math.round(memory_bytes)))}${fits ? "" : ", too large"}`),
      ...(trains ? [numeric(training_step_ms === undefined ? "not measured" : ms(training_step_ms))] : []),
      ...[training_memory_bytes, sgd_memory_bytes].map((bytes) => numeric(format.text(format.bytes(Math.round(bytes))))),
      ...slices.map((slice) => el("td", {}, slice ?? "too small")),
    );
  };
  const head = heads.map((name) => el("th", { scope: "col", class: name.startsWith("Slice") ? null : "numeric" }, name));
  return el("table", { class: "sweep-table batch-table" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...points.map(row)));
}
