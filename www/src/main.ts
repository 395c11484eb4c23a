/** Wires the page: files in, views out. */
import { el } from "./dom.ts";
import { Estimator, LayoutClient } from "./estimator.ts";
import { EXAMPLES, fetchExample, warmUpUrl } from "./examples.ts";
import * as format from "./format.ts";
import { KnownError } from "./messenger.ts";
import type { Report } from "./report.ts";
import { batchControl } from "./view/batch.ts";
import { ComparisonView } from "./view/comparison.ts";
import { sentence } from "./view/diagnostics.ts";
import { acceptFiles } from "./view/drop.ts";
import { failurePanel } from "./view/failure.ts";
import { reportView } from "./view/report.ts";
import { shareButtons } from "./view/share.ts";
import { exampleButtons, targetTable } from "./view/start.ts";

function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const status = byId("status");
const title = byId("title");
const tools = byId("tools");
const view = byId("view");

const asset = (path: string): string => new URL(path, document.baseURI).href;
const estimator = new Estimator({
  wasm: asset("litecast_bg.wasm"),
  predictor: asset("assets/predictor.onnx"),
  manifest: asset("assets/manifest.json"),
  warm_up: warmUpUrl(),
});
const layouts = new LayoutClient();
/** Of the drop that is shown or on its way. */
let current = new AbortController();

acceptFiles(byId("overlay"), byId<HTMLInputElement>("picker"), (files) => void open(files));
for (const button of document.querySelectorAll(".pick")) button.addEventListener("click", () => byId("picker").click());
byId("examples").append(...exampleButtons(EXAMPLES, (example) => void openExample(example)));
byId("home").addEventListener("click", () => showStart());
addEventListener("popstate", () => showStart());
void announceTargets();

async function announceTargets(): Promise<void> {
  const say = (words: string): void => byId("ready").replaceChildren(words);
  try {
    const { targets, predictor_failure } = await estimator.started;
    byId("known-targets").replaceChildren(...targetTable(targets));
    say(predictor_failure ? `No learned estimates: ${sentence(predictor_failure.message)}` : "");
    document.body.dataset["ready"] = predictor_failure ? "facts-only" : "yes";
  } catch (error) {
    say(`The estimator could not be started. ${sentence((error as Error).message)}`);
    document.body.dataset["ready"] = "no";
  }
}

async function openExample(example: (typeof EXAMPLES)[number]): Promise<void> {
  const signal = begin(example.file);
  try {
    const file = await fetchExample(example);
    if (!signal.aborted) await open([file]);
  } catch (error) {
    if (!signal.aborted) showFailure(example.file, error);
  }
}

/** Stops what is on its way and starts afresh. */
function begin(name: string): AbortSignal {
  current.abort();
  current = new AbortController();
  performance.mark("litecast:drop");
  status.textContent = `Reading ${name}…`;
  return current.signal;
}

async function open(files: File[], batch = 1): Promise<void> {
  const signal = begin(files.length === 1 ? files[0].name : format.plural(files.length, "file"));
  const control = batchControl(batch, (wanted) => void open(files, wanted));
  if (files.length > 1) return compare(files, batch, control, signal);
  try {
    const report = await estimator.estimate(files[0], batch, signal);
    if (!signal.aborted) await showReport(report, signal, control);
  } catch (error) {
    if (!signal.aborted) showFailure(files[0].name, error, control);
  }
}

async function compare(files: File[], batch: number, control: HTMLElement, signal: AbortSignal): Promise<void> {
  let last: AbortController | null = null;
  const table = new ComparisonView(files, (report) => {
    last?.abort();
    last = new AbortController();
    signal.addEventListener("abort", () => last?.abort());
    performance.mark("litecast:drop");
    void showReport(report, last.signal, el("button", { type: "button", onclick: showTable }, "← All files"));
  });
  const showTable = (): void => {
    last?.abort();
    show("comparison", format.plural(files.length, "file"), [control], [table.element]);
  };
  showTable();
  for (const [place, file] of files.entries()) {
    status.textContent = `Reading ${file.name}, ${place + 1} of ${files.length}…`;
    try {
      table.show(place, await estimator.estimate(file, batch, signal));
    } catch (error) {
      if (signal.aborted) return;
      table.fail(place, error);
    }
  }
  status.textContent = "";
}

function show(state: string, name: string, buttons: HTMLElement[], parts: HTMLElement[]): void {
  const leaves_start = document.body.dataset["state"] === "start" && state !== "start";
  if (leaves_start) history.pushState(null, ""); // so that Back leads to the first screen
  document.body.dataset["state"] = state;
  delete document.body.dataset["drawn"];
  document.title = name ? `${name} · LiteCast` : "LiteCast";
  title.replaceChildren(name);
  tools.replaceChildren(...buttons);
  view.replaceChildren(...parts);
  scrollTo(0, 0);
}

async function showReport(report: Report, signal: AbortSignal, tool: HTMLElement): Promise<void> {
  const parts = reportView(report, estimator, layouts, signal);
  const { file_bytes, precision, n_operators } = report.model;
  const facts = [format.text(format.bytes(file_bytes)), precision === "none" ? "" : precision, format.plural(n_operators, "operator")];
  if (report.batch > 1) facts.push(`${report.batch} inputs at a time`);
  const buttons = [tool, shareButtons(report)];
  show("report", report.file, buttons, parts.elements);
  title.append(el("span", { class: "subtle" }, facts.filter(Boolean).join(" · ")));
  status.textContent = "";
  await painted();
  performance.measure("litecast:estimates", "litecast:drop");
  if (signal.aborted) return;
  await parts.unfold();
  await painted();
  performance.measure("litecast:drawn", "litecast:drop");
  document.body.dataset["drawn"] = report.file;
}

/** A file that takes one input at a time may be estimated for one after all. */
function showFailure(name: string, error: unknown, batch_control?: HTMLElement): void {
  const is_batch = error instanceof KnownError && error.kind === "batch";
  status.textContent = "";
  show("failure", name, is_batch && batch_control ? [batch_control] : [], [failurePanel(name, error)]);
}

function showStart(): void {
  current.abort();
  status.textContent = "";
  show("start", "", [], []);
}

/** After the next frame is on the screen. */
function painted(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}
