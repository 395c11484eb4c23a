/** What can be taken away from a report. */
import { el } from "../dom.ts";
import { operatorsCsv } from "../export/csv.ts";
import { graphPng, graphSvg } from "../export/drawing.ts";
import { htmlReport } from "../export/html.ts";
import { nodeData } from "../export/model_explorer.ts";
import type { Focus } from "../focus.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import { otherBuildError } from "../worker_messenger.ts";
import { MODEL_ENDING } from "../model_files.ts";
import type { Report } from "../report.ts";
import { nameInSpace } from "../targets.ts";
import { otherTargets } from "../remembered_targets.ts";
import type { ReportView } from "./report.ts";
import { closeWhenLeft } from "./pop_up.ts";
import { save } from "./save_button.ts";

/** Milliseconds after which a button says again what it does. */
const ECHO_MS = 1600;

/** Buttons that save the report or its drawing in several formats. */
export function downloadMenu(report: Report, focus: Focus, view: ReportView, signal: AbortSignal): HTMLElement {
  const name = report.file.replace(MODEL_ENDING, "");
  const json = (): string => JSON.stringify(ownResultsOnly(report), null, 2);
  const item = (label: string, words: string, act: () => void): HTMLElement =>
    el("li", {}, el("button", { type: "button", onclick: () => act() }, label), el("span", { class: "subtle" }, words));
  const with_names = el("input", { type: "checkbox", id: "link-names" });
  const link = el("button", { type: "button", onclick: () => void copyMade(link, () => linkTo(report, focus, with_names.checked)) }, "Copy link");
  const copy = el("button", { type: "button", onclick: () => void copyText(copy, json()) }, "Copy JSON");
  const drawn = (): NonNullable<ReturnType<ReportView["graph"]>> | null => (view.graph()?.scene() ? view.graph() : null);
  const menu = el(
    "details",
    { class: "take" },
    el("summary", {}, "Take away"),
    el(
      "ul",
      { class: "plain take-list panel" },
      item("Save JSON", "the whole report", () => void save(`${name}.litecast.json`, "application/json", json)),
      el("li", {}, link, el("span", { class: "subtle" }, "the numbers, in the link itself; ", el("label", {}, with_names, " with names"))),
      el("li", {}, copy, el("span", { class: "subtle" }, "to the clipboard")),
      el("li", {}, el("a", { href: `report.schema.json${VERSION}`, download: "litecast-report.schema.json" }, "JSON Schema"), el("span", { class: "subtle" }, "of the JSON report")),
      item("Save CSV", "a row for each operator", () => void save(`${name}.operators.csv`, "text/csv", () => operatorsCsv(report))),
      item("Save HTML", "one page that opens from disk", () => void save(`${name}.html`, "text/html", () => htmlReport(report, drawn(), focus))),
      item("Save SVG", "the graph", () => void saveDrawing(`${name}.svg`, "image/svg+xml", () => graphSvg(report, drawn(), operatorsLeftBy(report, focus.targetIn(report))))),
      item("Save PNG", "the graph", () => void saveDrawing(`${name}.png`, "image/png", () => graphPng(report, drawn(), operatorsLeftBy(report, focus.targetIn(report))))),
      item("Save node data", "the chosen cost, for Model Explorer", () => void save(`${name}.model-explorer.json`, "application/json", () => nodeData(report, focus))),
      item("Print", "or save as PDF", () => print()),
    ),
  );
  closeWhenLeft(menu, signal);
  return menu;
}

async function saveDrawing(name: string, type: string, content: () => string | Promise<Blob | null> | null): Promise<void> {
  const made = await content();
  if (made !== null) await save(name, type, () => made);
}

/** What the engine says, without the devices that only this browser knows. */
function ownResultsOnly({ what_if: _, ...report }: Report): Report {
  return { ...report, results: report.results.filter((result) => nameInSpace("device", result.target) === null) };
}

/** The address of this page with the report in its fragment. */
async function linkTo(report: Report, focus: Focus, has_names: boolean): Promise<string> {
  const { linkOf } = await import("../share.ts").catch(() => Promise.reject(otherBuildError()));
  const target = focus.targetIn(report);
  const shared = { ...ownResultsOnly(report), ...(report.what_if ? { what_if: report.what_if } : {}) };
  const fragment = await linkOf(shared, { has_names, targets: [target, ...otherTargets()] });
  return `${location.origin}${location.pathname}#${fragment}&${new URLSearchParams({ target })}`;
}

const copyText = (button: HTMLElement, text: string): Promise<void> => copyMade(button, () => Promise.resolve(text));

/** Says on the button what became of it; why not, in its tooltip. */
async function copyMade(button: HTMLElement, make: () => Promise<string>): Promise<void> {
  const before = button.textContent;
  button.title = "";
  const text = await make().catch((error: unknown) => ((button.title = (error as Error).message), null));
  const echo = text === null ? "Too large" : await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not allowed",
  );
  button.textContent = echo;
  setTimeout(() => (button.textContent = before), ECHO_MS);
}
