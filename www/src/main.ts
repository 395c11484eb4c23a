/** Wires the page: files in, views out, and a history that Back, Forward and reload go through. */
import "./peer_connections.ts";
import { type Asked, askedTarget, askedTargets, choiceOf, offersOf, ownTargets, rememberGroup, targetsOf } from "./requested_targets.ts";
import { learnEstimates, withResultsOnDevices } from "./measured_latencies.ts";
import { el, keepingFocus, nextTask } from "./dom.ts";
import { Estimator, LayoutClient, UNTOUCHED, readFile } from "./estimator.ts";
import { EXAMPLES, type Example, fetchExample } from "./examples.ts";
import { openModels } from "./files.ts";
import { Focus } from "./focus.ts";
import * as format from "./format.ts";
import { writeHost } from "./host.ts";
import { keepFile, keptFile } from "./file_store.ts";
import { KnownError, otherBuildError } from "./worker_messenger.ts";
import type { Model, ModelFile } from "./model_files.ts";
import { type Report, type Result, type TargetInfo, isEstimate } from "./report.ts";
import { type Asked as AskedByMessage, answerMessages } from "./opener_messages.ts";
import { AS_IT_IS, type Scenario, type Sizes, isChanged, readScenario, scenarioParameters, scenarioWords } from "./scenario.ts";
import { type ComparisonRow, comparisonHistory, reportHistory as openedBefore, keepComparison, keptComparison, keptReport, newKey } from "./store.ts";
import { type BatchControl, batchControl } from "./view/batch_control.ts";
import type { ComparedFile, Summary } from "./comparison_rows.ts";
import { ComparisonView } from "./view/comparison.ts";
import { acceptFiles } from "./view/file_drop.ts";
import { failurePanel } from "./view/failure.ts";
import { PROFILE_NAME, isProfile } from "./view/measured_devices.ts";
import { reportView } from "./view/report.ts";
import { firstScenario } from "./threads.ts";
import { warmUp } from "./warm_up.ts";
import { ALL_GPUS } from "./view/target_choice.ts";
import { describedTarget, groupOf, nameInSpace } from "./targets.ts";
import { otherTargets } from "./remembered_targets.ts";
import type { MoreTargets } from "./view/target_groups.ts";
import { openDimensions, sizesControl } from "./view/open_dimensions.ts";
import { exampleButtons, type TargetPicker, historyList, targetPicker, targetTables } from "./view/start_screen.ts";
import { save } from "./view/save_button.ts";
import { downloadMenu } from "./view/download_menu.ts";
import { metricName, asSentence } from "./words.ts";

/** What `history.state` says of a view. */
type Place = { view: "start" } | { view: "report"; key: string } | { view: "comparison"; key: string } | { view: "failure" };

interface OpenReport {
  report: Report;
  /** Null after a reload, unless files are kept: another batch needs the file. */
  file: ModelFile | null;
}

interface OpenComparison {
  rows: ComparedFile[];
  files: ModelFile[] | null;
  scenario: Scenario;
  view: ComparisonView | null;
}

/** Reports held besides those in the browser's database, which a private window lacks. */
const MAX_HELD_REPORTS = 40;

function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const status = byId("status");
const cancel = byId("cancel");
const title = byId("title");
const tools = byId("tools");
const view = byId("view");

const asset = (path: string): string => new URL(`${path}${VERSION}`, document.baseURI).href;
const estimator = new Estimator({
  wasm: asset("litecast_bg.wasm"),
  devices: asset("devices_bg.wasm"),
  constants: { gpus: asset("assets/gpu.json"), "phones-and-boards": asset("assets/accelerators.json") },
});
const layouts = new LayoutClient();
const focus = new Focus();
const reports = new Map<string, OpenReport>();
const comparisons = new Map<string, OpenComparison>();
/** Of the files that are being estimated. */
let job = new AbortController();
/** Of the view that is shown. */
let shown = new AbortController();
/** Scrolled to, by the key of a view. */
const scrolls = new Map<string, number>();
let place: Place = { view: "start" };
/** Null until the estimator has said what there is. */
let picker: TargetPicker | null = null;
/** Takes what a tool measured of the file whose report is shown; null where none is. */
let takeProfile: ((profile: File) => void) | null = null;
/** What is on its way; its words are shown once `timer` has run. */
let busy: { words: string; timer: ReturnType<typeof setTimeout> } | null = null;

history.scrollRestoration = "manual";
acceptFiles(byId("overlay"), byId<HTMLInputElement>("picker"), (files) => void open(files));
for (const button of document.querySelectorAll(".pick")) button.addEventListener("click", () => byId("picker").click());
byId("examples").append(...exampleButtons(EXAMPLES, (example) => void openExample(example)));
byId("home").addEventListener("click", () => go({ view: "start" }));
cancel.addEventListener("click", stop);
addEventListener("keydown", (event) => event.key === "Escape" && busy && stop());
addEventListener("popstate", (event) => {
  const next = (event.state as Place | null) ?? { view: "start" };
  const shared = event.state === null || next.view === "failure" ? sharedReport() : null;
  void (shared === null ? render(next) : openLink(shared));
});
byId("export-all").addEventListener("click", () => void exportEverything());
byId("import-all").addEventListener("click", () => byId("import-picker").click());
byId("import-picker").addEventListener("change", () => void importEverything(byId<HTMLInputElement>("import-picker")));
void announceTargets();
void restore();
answerMessages(estimateAsked, openAsked);
// Files that the system opens with the installed page.
const { launchQueue } = window as { launchQueue?: { setConsumer(consume: (launch: { files: FileSystemFileHandle[] }) => void): void } };
launchQueue?.setConsumer(({ files }) => {
  if (files.length > 0) void Promise.all(files.map((handle) => handle.getFile())).then((launched) => open(launched));
});

/** After a reload the view that was shown; from a link the example that it names. */
async function restore(): Promise<void> {
  const link = new URLSearchParams(location.hash.slice(1));
  const target = link.get("target");
  if (target) focus.chooseTarget(target);
  const kept = history.state as Place | null;
  const example = EXAMPLES.find(({ file }) => file === link.get("example"));
  const shared = sharedReport();
  // It is in the address, and kept nowhere else.
  if (shared !== null) await openLink(shared);
  else if (kept && (kept.view === "report" || kept.view === "comparison")) await render(kept);
  else if (example) await openExample(example, readScenario(link));
  else await listHistory();
}

/** As a page that opened this one asked: kept nowhere, and without what this browser has set. */
async function estimateAsked({ file, batch, targets }: AskedByMessage): Promise<Report> {
  const { signal } = new AbortController();
  const scenario = { ...AS_IT_IS, batch };
  if (targets === null) return estimator.estimate(file, scenario, [], null, signal, UNTOUCHED);
  const more_targets = await Promise.all(targets.map(async (target) => (await askedTarget(target, estimator)) ?? choiceOf(target)));
  return estimator.explore({ name: file.name, bytes: await readFile(file) }, scenario, { targets: [], more_targets, is_summary: false }, signal, UNTOUCHED);
}

async function openAsked(asked: AskedByMessage): Promise<void> {
  const signal = begin(asked.file.name);
  try {
    const report = await estimateAsked({ ...asked, targets: null });
    if (signal.aborted) throw new KnownError("cancelled", "another file was opened meanwhile");
    const key = newKey();
    reports.set(key, { report, file: asked.file });
    if (asked.targets) focus.chooseTarget(asked.targets[0]);
    go({ view: "report", key });
  } catch (error) {
    sayDone();
    throw error;
  }
}

const backups = (): Promise<typeof import("./backup.ts")> => import("./backup.ts").catch(() => Promise.reject(otherBuildError()));
const orSay = (done: Promise<void>): Promise<void> => done.catch((error: unknown) => say(asSentence((error as Error).message)));

function exportEverything(): Promise<void> {
  const name = `litecast-${new Date().toISOString().slice(0, 10)}.backup.json`;
  return orSay(backups().then(({ exportAll }) => save(name, "application/json", exportAll)));
}

/** Settings are read when the page starts: it starts again. */
function importEverything(chosen: HTMLInputElement): Promise<void> {
  const [file] = chosen.files ?? [];
  chosen.value = "";
  if (!file) return Promise.resolve();
  const signal = begin(file.name);
  const add = async (): Promise<void> => {
    const { importAll } = await backups();
    const { n_reports, n_comparisons, n_settings, n_refused } = await importAll(file, signal, (done) => sayBusy(readingWords(file.name, done)));
    const refused = n_refused > 0 ? `; ${format.plural(n_refused, "part")} of it could not be read` : "";
    alert(`Imported ${format.plural(n_reports, "report")}, ${format.plural(n_comparisons, "comparison")} and ${format.plural(n_settings, "setting")}${refused}. The page starts again.`);
    location.reload();
  };
  return add().catch((error: unknown) => {
    if (!signal.aborted) sayDone(asSentence((error as Error).message));
  });
}

function readingWords(name: string, done: number): string {
  return `Reading ${name}, ${Math.floor(100 * done)}\u202f%…`;
}

/** What the address has of a report; null where it has none. */
function sharedReport(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("report");
}

/** Shows the report of a link, under the address that has it. */
async function openLink(value: string): Promise<void> {
  const signal = begin("the link");
  const target = new URLSearchParams(location.hash.slice(1)).get("target");
  try {
    const { reportOfLink } = await import("./share.ts").catch(() => Promise.reject(otherBuildError()));
    const report = await reportOfLink(value);
    const { fits } = report;
    // Rooms of boards follow from the need, which alone is in the link.
    if (fits) report.fits = await estimator.fits(fits.need, fits.application).catch(() => null);
    if (signal.aborted) return;
    // Whatever else stands there is not remembered.
    if (target && report.results.some((result) => result.target === target)) focus.chooseTarget(target);
    const key = newKey();
    reports.set(key, { report, file: null });
    history.replaceState({ view: "report", key } satisfies Place, "");
    await render({ view: "report", key });
  } catch (error) {
    if (signal.aborted) return;
    // In the place of the link: Back leads to what was before it.
    remember();
    place = { view: "failure" };
    history.replaceState(place, "");
    showFailure("This link", error);
  }
}

async function announceTargets(): Promise<void> {
  const say = (words: string): void => byId("ready").replaceChildren(words);
  try {
    const { targets, others } = await estimator.started;
    say("");
    performance.mark("litecast:ready");
    document.body.dataset["ready"] = "yes";
    void offerTargets(targets);
    // A thousand elements, for those who ask: a file that waits for the estimator does not wait for them.
    await nextTask();
    byId("known-targets").replaceChildren(...targetTables(targets, others));
    await warmUp(WARM_UP_FILES.map(asset), estimator, drawUnseen, () => place.view !== "start").catch(() => undefined);
  } catch (error) {
    say(`The estimator could not be started. ${asSentence((error as Error).message)}`);
    document.body.dataset["ready"] = "no";
  }
}

/** Before any file. */
async function offerTargets(targets: TargetInfo[]): Promise<void> {
  const { offers: more } = await offers();
  picker = targetPicker(targets, more, focus);
  byId("first-target-place").replaceChildren(picker.element);
}

/** Targets that not every report has, and processors beside an Ethos-U. */
type Offered = Pick<MoreTargets, "offers" | "hosts">;
const NOTHING: Offered = { offers: [], hosts: [] };

async function offers(): Promise<Offered> {
  const [{ others }, choices] = await Promise.all([estimator.started, estimator.choices(null)]);
  return { offers: offersOf(others, choices), hosts: choices.hosts };
}

async function listHistory(): Promise<void> {
  const [opened, compared] = await Promise.all([openedBefore(), comparisonHistory()]);
  const lines = historyList(opened, compared, focus, ({ view, key }) => go({ view, key }), () => void listHistory());
  const had_focus = byId("history").contains(document.activeElement);
  await keepingFocus(byId("history"), () => byId("history").replaceChildren(...lines));
  // Nothing is left that could have the focus.
  if (had_focus && lines.length === 0 && place.view === "start") [...document.querySelectorAll<HTMLElement>(".pick")].find((button) => button.checkVisibility())?.focus({ preventScroll: true });
}

async function openExample(example: Example, scenario = firstScenario(focus.wanted)): Promise<void> {
  const signal = begin(example.file);
  try {
    const file = await fetchExample(example);
    if (!signal.aborted) await open([file], scenario);
  } catch (error) {
    if (!signal.aborted) showFailure(example.file, error);
  }
}

/** Stops what is on its way and starts afresh. */
function begin(name: string): AbortSignal {
  job.abort();
  job = new AbortController();
  performance.clearMarks("litecast:drop");
  performance.mark("litecast:drop");
  sayBusy(`Reading ${name}…`);
  return job.signal;
}

function stop(): void {
  job.abort();
  sayDone("Cancelled.");
}

function say(words: string): void {
  status.textContent = words;
}

/** What is ready sooner than this is not announced: words that come and go disturb, and a frame for them costs time. */
const BUSY_AFTER_MS = 100;

/** Says that something is on its way, and offers to cancel it. */
function sayBusy(words: string): void {
  if (!cancel.hidden) return say(words);
  const show = (): void => {
    say(busy?.words ?? "");
    cancel.hidden = false;
  };
  busy = { words, timer: busy?.timer ?? setTimeout(show, BUSY_AFTER_MS) };
}

/** Nothing is on its way any more. */
function sayDone(words = ""): void {
  if (busy) clearTimeout(busy.timer);
  busy = null;
  cancel.hidden = true;
  say(words);
}

async function open(dropped: File[], scenario = firstScenario(focus.wanted)): Promise<void> {
  if (dropped.length === 1 && PROFILE_NAME.test(dropped[0].name) && takeProfile && (await isProfile(dropped[0]))) return takeProfile(dropped[0]);
  const name = dropped.length === 1 ? dropped[0].name : format.plural(dropped.length, "file");
  const signal = begin(name);
  try {
    if (dropped.length === 1) estimator.readAhead(dropped[0]);
    const models = await openModels(dropped, signal, (name, done) => sayBusy(readingWords(name, done)));
    if (signal.aborted) return;
    if (models.length !== 1) return await compare(models, scenario, signal);
    const [model] = models;
    if ("failure" in model) return showFailure(model.name, model.failure);
    await openOne(model, scenario, signal);
  } catch (error) {
    if (!signal.aborted) showFailure(name, error);
  }
}

async function openOne(file: ModelFile, scenario: Scenario, signal: AbortSignal, control?: BatchControl): Promise<void> {
  const key = newKey();
  try {
    const report = await estimator.estimate(file, scenario, await askedTargets(focus.wanted, estimator), key, signal);
    if (signal.aborted) return;
    addMissing(report);
    hold(key, { report, file });
    go({ view: "report", key });
  } catch (error) {
    if (signal.aborted) return;
    sayDone();
    // The report of another batch stays where it is.
    if (control) control.refuse(asSentence((error as Error).message));
    else showFailure(file.name, error, (sizes) => void openOne(file, { ...scenario, dimensions: { ...scenario.dimensions, ...sizes } }, begin(file.name)));
  }
}

function hold(key: string, opened: OpenReport): void {
  const { what_if } = opened.report;
  if (!what_if || !isChanged(what_if)) learnEstimates(opened.report);
  reports.set(key, opened);
  if (opened.file) void keepFile(key, opened.file);
  const oldest = reports.keys().next().value;
  if (reports.size > MAX_HELD_REPORTS && oldest !== undefined) reports.delete(oldest);
}

/** Files after which a comparison on its way is kept: each time all of its rows are written. */
const KEPT_EVERY = 16;

async function compare(models: Model[], scenario: Scenario, signal: AbortSignal): Promise<void> {
  const key = newKey();
  const rows: ComparedFile[] = models.map((model) => ("failure" in model ? { file: model.name, failure: model.failure.message } : { file: model.name, waiting: true }));
  const isFile = (model: Model): model is ModelFile => !("failure" in model);
  const files = models.every(isFile) ? models : null;
  const comparison: OpenComparison = { rows, files, scenario, view: null };
  comparisons.set(key, comparison);
  const keep = (): Promise<void> => keepComparison({ key, opened_ms: Date.now(), batch: scenario.batch, rows: comparison.rows.map(bareRow) });
  await keep();
  go({ view: "comparison", key });
  const unpacked = unpackedWords(models.filter(isFile));
  for (const [i, model] of models.entries()) {
    if (!isFile(model)) continue;
    sayBusy(`Reading ${model.name}, ${i + 1} of ${models.length}${unpacked}…`);
    comparison.rows = comparison.rows.with(i, await compareOne(model, scenario, signal));
    comparison.view?.update(comparison.rows);
    if (signal.aborted) break;
    if (i % KEPT_EVERY === 0 || i === models.length - 1) await keep();
  }
  if (signal.aborted) {
    comparison.rows = comparison.rows.map((row) => ("waiting" in row ? { file: row.file, failure: "cancelled" } : row));
    comparison.view?.update(comparison.rows);
    return void keep();
  }
  sayDone(unpacked && `${format.plural(models.length, "file")}${unpacked}.`);
  const n_read = comparison.rows.filter((row) => "summary" in row).length;
  announce(`Comparison ready: ${n_read} of ${format.plural(models.length, "file")} estimated.`);
}

/** What archives among the files unpack to; empty without them. */
function unpackedWords(files: readonly ModelFile[]): string {
  const n_bytes = files.reduce((total, file) => (file instanceof File ? total : total + file.size), 0);
  return n_bytes > 0 ? ` (${format.text(format.bytes(n_bytes))} unpacked in all)` : "";
}

async function compareOne(file: ModelFile, scenario: Scenario, signal: AbortSignal): Promise<ComparedFile> {
  const key = newKey();
  const { dimensions: given } = scenario;
  const estimate = async (dimensions: Sizes): Promise<ComparedFile> => {
    const report = await estimator.estimate(file, { ...scenario, dimensions }, await askedTargets(focus.wanted, estimator), key, signal);
    addMissing(report);
    hold(key, { report, file });
    return { file: file.name, key, summary: summaryOf(await withResultsOnDevices(report, estimator)) };
  };
  const failed = (error: unknown): ComparedFile => {
    const missing = error instanceof KnownError ? error.dimensions : [];
    return { file: file.name, failure: signal.aborted ? "cancelled" : (error as Error).message, ...(missing.length > 0 && !signal.aborted ? { dimensions: missing } : {}) };
  };
  try {
    return await estimate({});
  } catch (error) {
    // Each file is given those sizes alone that it leaves open.
    const missing = error instanceof KnownError ? error.dimensions : [];
    const sizes = Object.fromEntries(missing.flatMap((name) => (Object.hasOwn(given, name) ? [[name, given[name]]] : [])));
    return missing.length > 0 && Object.keys(sizes).length === missing.length ? estimate(sizes).catch(failed) : failed(error);
  }
}

function bareRow(row: ComparedFile): ComparisonRow {
  return "summary" in row ? { file: row.file, key: row.key } : row;
}

function summaryOf({ file, batch, model, results, left_out = [], litecast_version }: Report): Summary {
  const bare = results.map((result) => (isEstimate(result) ? { ...result, operators: [] } : result));
  return { file, batch, model, results: bare, left_out, litecast_version };
}

/** A new place in the history. */
function go(next: Place): void {
  const is_same = JSON.stringify(next) === JSON.stringify(place);
  remember();
  if (!is_same) history.pushState(next, "", linkOf(next));
  void render(next);
}

function remember(): void {
  scrolls.set(keyOf(place), scrollY);
}

function keyOf(of: Place): string {
  return "key" in of ? of.key : of.view;
}

/** An example can be linked to; files stay on this machine. */
function linkOf(next: Place): string {
  const opened = next.view === "report" ? reports.get(next.key) : undefined;
  const example = EXAMPLES.find(({ file, bytes }) => file === opened?.report.file && bytes === opened.report.model.file_bytes);
  if (!example || !opened) return `${location.pathname}${location.search}`;
  const link = new URLSearchParams({ example: example.file, target: focus.targetIn(opened.report) });
  for (const [name, value] of scenarioParameters(scenarioOf(opened.report))) link.set(name, value);
  return `#${link}`;
}

/** Reports that were kept by another version of the page may say less. */
function scenarioOf({ batch, what_if }: Report): Scenario {
  return { ...AS_IT_IS, batch, ...what_if };
}

/** Back from an estimate that is on its way gives it up; a comparison goes on behind the report of one of its files. */
async function render(next: Place): Promise<void> {
  const before = place;
  place = next;
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const refuse = (error: unknown): void => {
    if (!signal.aborted) showGone(error instanceof KnownError ? error : new KnownError("page", `the page could not show it (${String(error)})`));
  };
  if (next.view === "report") await renderReport(next.key, signal).catch(refuse);
  else if (next.view === "comparison") await renderComparison(next.key, keyOf(before), signal).catch(refuse);
  else if (next.view !== "failure") renderStart();
}

function renderStart(): void {
  job.abort();
  sayDone();
  show("start", "", [], []);
  picker?.refresh();
  void listHistory();
}

async function renderReport(key: string, signal: AbortSignal): Promise<void> {
  const [report, file] = await Promise.all([fullReport(key), reports.get(key)?.file ?? keptFile(key)]);
  if (signal.aborted) return;
  if (!report) return showGone();
  const offered = file ? await offers().catch(() => NOTHING) : NOTHING;
  await nextTask(); // reading a large answer was one of its own
  if (signal.aborted) return;
  await showReport(key, report, file, offered, signal);
}

async function renderComparison(key: string, opened_key: string, signal: AbortSignal): Promise<void> {
  const comparison = comparisons.get(key) ?? (await keptRows(key));
  if (signal.aborted) return;
  if (!comparison) return showGone();
  comparisons.set(key, comparison);
  const { files } = comparison;
  const give = files && ((sizes: Sizes): void => void compare(files, { ...comparison.scenario, dimensions: { ...comparison.scenario.dimensions, ...sizes } }, begin(format.plural(files.length, "file"))));
  const table = new ComparisonView(comparison.rows, focus, (row) => go({ view: "report", key: row.key }), (key) => fullReport(key).catch(() => null), give, signal);
  comparison.view = table;
  const control = batchControl(comparison.scenario.batch, files && ((batch) => void compare(files, { ...comparison.scenario, batch }, begin(format.plural(files.length, "file")))));
  show("comparison", format.plural(comparison.rows.length, "file"), [control.element], [table.element]);
  restoreScroll(key);
  const row = table.element.querySelector<HTMLElement>(`[data-open="${opened_key}"]`);
  row?.focus({ preventScroll: true });
}

/** Those of a comparison that the page was closed or reloaded on. */
async function keptRows(key: string): Promise<OpenComparison | null> {
  const kept = await keptComparison(key);
  if (!kept) return null;
  const rows = await Promise.all(
    kept.rows.map(async (row): Promise<ComparedFile> => {
      if ("failure" in row) return row;
      try {
        const report = "key" in row ? await keptReport(row.key) : null;
        if (!report || !("key" in row)) return { file: row.file, failure: "the page was left before it was estimated, or its report was forgotten" };
        return { file: row.file, key: row.key, summary: summaryOf(await withResultsOnDevices(report, estimator)) };
      } catch (error) {
        return { file: row.file, failure: (error as Error).message };
      }
    }),
  );
  return { rows, files: null, scenario: { ...AS_IT_IS, batch: kept.batch }, view: null };
}

/** Id of what had the focus in the last view of the same kind: a control that made this one from it. */
let held_id = "";

/** Gives the focus back to the control that had it, once that is drawn. */
function giveFocusBack(): void {
  const is_elsewhere = document.activeElement !== title && document.activeElement !== document.body && document.activeElement?.isConnected;
  const held = held_id && !is_elsewhere ? document.getElementById(held_id) : null;
  if (!held) return;
  held.focus({ preventScroll: true });
  held_id = "";
}

function show(state: string, name: string, buttons: HTMLElement[], parts: HTMLElement[], facts = ""): void {
  held_id = document.body.dataset["state"] === state && (tools.contains(document.activeElement) || view.contains(document.activeElement)) ? (document.activeElement?.id ?? "") : "";
  // Before anything changes: it waits for a layout, and that of the new parts comes with their frame.
  scrollTo(0, 0);
  document.body.dataset["state"] = state;
  takeProfile = null;
  delete document.body.dataset["drawn"];
  document.title = name ? `${name} · LiteCast` : "LiteCast";
  title.replaceChildren(name, ...(facts ? [el("span", { class: "subtle" }, facts)] : []));
  tools.replaceChildren(...buttons);
  view.replaceChildren(...parts);
  requestAnimationFrame(() => {
    // The focus was on something that is gone: the next Tab goes on from here.
    if (document.activeElement === document.body || !document.activeElement?.isConnected) (name ? title : byId("home")).focus({ preventScroll: true });
    giveFocusBack();
  });
}

/** With what each operator costs. */
async function fullReport(key: string): Promise<Report | null> {
  const report = reports.get(key)?.report ?? (await keptReport(key));
  if (report) report.results = (await withResultsOnDevices(report, estimator)).results;
  return report;
}

function restoreScroll(key: string): void {
  scrollTo(0, scrolls.get(key) ?? 0);
}

async function showReport(key: string, report: Report, file: ModelFile | null, offered: Offered, signal: AbortSignal): Promise<void> {
  const remeasured = async (asked: readonly Asked[] = [], again: readonly Asked[] = []): Promise<void> => {
    Object.assign(report, await withTargets(report, file, asked, again, signal));
    report.results = (await withResultsOnDevices(report, estimator)).results;
    focus.refresh();
  };
  const scenario = scenarioOf(report);
  const change = (wanted: Scenario): void => void (file && openOne(file, wanted, begin(file.name)));
  const parts = reportView(report, { file, scenario, change }, estimator, layouts, focus, moreTargets(report, file, offered, remeasured), (again = []) => void remeasured([], again), signal);
  const { file_bytes, precision, n_operators } = report.model;
  const facts = [format.text(format.bytes(file_bytes)), precision === "none" ? "" : precision, format.plural(n_operators, "operator")];
  facts.push(...scenarioWords(scenario), ...(sharedReport() !== null && file === null ? ["shared, without its file"] : []));
  const control: BatchControl = batchControl(report.batch, file && ((batch) => void openOne(file, { ...scenario, batch }, begin(file.name), control)));
  const is_compared = [...comparisons].some(([, { rows }]) => rows.some((row) => "key" in row && row.key === key));
  const back = is_compared ? el("button", { type: "button", onclick: () => history.back() }, "← All files") : null;
  const withSizes = (sizes: Sizes): Scenario => ({ ...scenario, dimensions: { ...scenario.dimensions, ...sizes } });
  const sizes = sizesControl(openDimensions(report, scenario.dimensions), file && ((wanted) => change(withSizes(wanted))));
  const buttons = [back, control.element, ...sizes, downloadMenu(report, focus, parts, signal)].filter((button) => button !== null);
  show("report", report.file, buttons, parts.elements, facts.filter(Boolean).join(" · "));
  takeProfile = parts.takeProfile;
  if (!isBusyComparing()) {
    sayDone();
  }
  announce(`Report of ${report.file} ready. ${answerWords(report)}`);
  let answered = answerWords(report);
  focus.onChange(() => {
    const words = answerWords(report);
    if (words !== answered) announce(words);
    answered = words;
  }, signal);
  void nextTask().then(() => view.offsetHeight); // the layout need not wait for the frame
  await painted();
  measureSinceDrop("litecast:estimates");
  if (signal.aborted) return;
  await parts.unfold();
  if (signal.aborted) return;
  await painted();
  giveFocusBack();
  restoreScroll(key);
  measureSinceDrop("litecast:drawn");
  document.body.dataset["drawn"] = report.file;
}

/** One entry of a name: the browser never forgets those that nobody clears, and each may keep a page of its memory. */
function measureSinceDrop(name: string): void {
  if (performance.getEntriesByName("litecast:drop").length === 0) return;
  performance.clearMeasures(name);
  performance.measure(name, "litecast:drop");
}

/**
 * As `showReport`, in a place that nobody sees and for no longer than a layout: the browser looks up the fonts of a report
 * in another process, which takes 10 ms, or 150 where that one is busy.
 */
function drawUnseen(report: Report): void {
  const more: MoreTargets = { ...NOTHING, is_possible: true, show: () => Promise.resolve(), choose: () => undefined, chooseHost: () => undefined };
  const signal = AbortSignal.abort();
  const parts = reportView(report, { file: null, scenario: AS_IT_IS, change: () => undefined }, estimator, layouts, focus, more, () => undefined, signal);
  const place = el("div", { class: "view unseen" }, batchControl(report.batch, null).element, downloadMenu(report, focus, parts, signal), ...parts.elements);
  answerWords(report);
  document.body.append(place);
  void place.offsetHeight;
  place.remove();
}

/** Targets that `report` is to have as well; `add` estimates on them, and again on others. */
function moreTargets(report: Report, file: ModelFile | null, offered: Offered, add: (asked: readonly Asked[], again?: readonly Asked[]) => Promise<void>): MoreTargets {
  const show: MoreTargets["show"] = async (group, is_shown) => {
    rememberGroup(group, is_shown);
    if (!is_shown) {
      Object.assign(report, withoutTargets(report, (target) => groupOf(target) === group));
      if (groupOf(focus.wanted) === group) focus.chooseTarget("");
    }
    await add(is_shown ? await targetsOf(group, estimator) : []);
  };
  const choose = async (target: string): Promise<void> => {
    const has = (wanted: string): boolean => report.results.some((result) => result.target === wanted);
    if (target === ALL_GPUS) {
      await show("gpus", true);
      return focus.chooseTarget(report.results.find((result) => groupOf(result.target) === "gpus")?.target ?? "");
    }
    if (!has(target)) {
      const asked = await askedTarget(target, estimator);
      if (asked) await add([asked]);
    }
    focus.chooseTarget(target);
  };
  const chooseHost = (host: string | null): Promise<void> => {
    writeHost(host);
    return add([], (report.left_out ?? []).flatMap(({ targets }) => targets).map(choiceOf));
  };
  return { ...offered, is_possible: file !== null, show, choose: (target) => void orSay(choose(target)), chooseHost: (host) => void orSay(chooseHost(host)) };
}

/** What was wanted and could not be estimated has a row that says so. */
function addMissing(report: Report): void {
  const missing = [focus.wanted, ...otherTargets()].filter((target) => !report.results.some((result) => result.target === target));
  const rows = missing.flatMap((target): Result[] => {
    const description = describedTarget(target);
    return description ? [{ target, device: description.short_label, metric: "latency", unavailable: "its constants could not be loaded", reason: "not-estimated" }] : [];
  });
  if (rows.length > 0) report.results = [...report.results, ...rows];
}

/** What depends on targets. */
type OfTargets = Required<Pick<Report, "results" | "left_out" | "diagnostics">>;

function withoutTargets({ results, left_out = [], diagnostics }: Report, is_gone: (target: string) => boolean): OfTargets {
  const keep = <Item extends { targets: string[] }>(item: Item): Item[] => {
    const targets = item.targets.filter((target) => !is_gone(target));
    return targets.length > 0 ? [{ ...item, targets }] : [];
  };
  return {
    results: results.filter(({ target }) => !is_gone(target)),
    left_out: left_out.flatMap(keep),
    diagnostics: diagnostics.flatMap((diagnostic) => (diagnostic.targets ? keep({ ...diagnostic, targets: diagnostic.targets }) : [diagnostic])),
  };
}

/**
 * The report's with that of `asked` and of accelerators of one's own that were added since, without those that are gone;
 * that of `again` is estimated anew, and stays in its place.
 */
async function withTargets(report: Report, file: ModelFile | null, asked: readonly Asked[], again: readonly Asked[], signal: AbortSignal): Promise<OfTargets> {
  const { file: name, batch, what_if } = report;
  const own_targets = ownTargets();
  const is_gone = (target: string): boolean => ((nameInSpace("own", target) ?? nameInSpace("measured", target)) !== null && !own_targets.some((accelerator) => accelerator.name === target)) || again.some((other) => other.name === target);
  const places = new Map([...new Set(report.results.map(({ target }) => target))].map((target, place) => [target, place]));
  const inPlace = (results: Result[]): Result[] => results.toSorted((a, b) => (places.get(a.target) ?? places.size) - (places.get(b.target) ?? places.size));
  const { results, left_out, diagnostics } = withoutTargets(report, is_gone);
  const added = [...own_targets, ...asked, ...again].filter((wanted, i, all) => !results.some(({ target }) => target === wanted.name) && all.findIndex((other) => other.name === wanted.name) === i);
  if (!file || added.length === 0) return { results, left_out, diagnostics };
  try {
    const bytes = await readFile(file);
    const explored_report = await estimator.explore({ name, bytes }, { ...AS_IT_IS, batch, ...what_if }, { targets: [], more_targets: added, is_summary: false }, signal);
    const is_new = explored_report.diagnostics.filter(({ targets }) => targets !== undefined);
    return { results: inPlace([...results, ...explored_report.results]), left_out: [...left_out, ...(explored_report.left_out ?? [])], diagnostics: [...diagnostics, ...is_new] };
  } catch (error) {
    const unavailable = (error as Error).message;
    const refused = added.map(({ name: target, device = target }): Result => ({ target, device, metric: "latency", unavailable, reason: "not-estimated" }));
    return { results: inPlace([...results, ...refused]), left_out, diagnostics };
  }
}

function isBusyComparing(): boolean {
  return !job.signal.aborted && [...comparisons.values()].some(({ rows }) => rows.some((row) => "waiting" in row));
}

/** For those who do not see the report come. */
function announce(words: string): void {
  byId("announcer").textContent = words;
}

/** The chosen target with its estimates. */
function answerWords({ results }: Report): string {
  const target = focus.targetIn({ results });
  const estimates = results.filter((result) => result.target === target && isEstimate(result)).filter(isEstimate);
  const words = estimates.map(({ metric, value, unit }) => `${metricName(metric)} ${format.text(format.measure(value, unit))}`);
  return `${results.find((result) => result.target === target)?.device ?? ""}: ${words.join(", ") || "no estimate"}.`;
}

/** `give` takes sizes that the file leaves open. */
function showFailure(name: string, error: unknown, give: ((sizes: Sizes) => void) | null = null): void {
  sayDone();
  remember();
  if (place.view !== "failure") history.pushState({ view: "failure" } satisfies Place, "");
  place = { view: "failure" };
  shown.abort();
  show("failure", name, [], [failurePanel(name, error, give)]);
}

function showGone(why = new KnownError("gone", "this browser no longer keeps it")): void {
  shown.abort();
  show("failure", "Report", [], [failurePanel("This report", why)]);
}

/** After the next frame is on the screen. */
function painted(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => void nextTask().then(resolve)));
}

if ("serviceWorker" in navigator) void navigator.serviceWorker.register("service-worker.js").catch(() => undefined);
