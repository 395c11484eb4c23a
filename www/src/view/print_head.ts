/** What a printed report opens with: of what it is, on what, when, and by which versions. */
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Report } from "../report.ts";
import { scenarioWords } from "../scenario.ts";

/** Seen on paper alone; its date is that of the print. */
export function printHead(report: Report, focus: Focus, signal: AbortSignal): HTMLElement {
  const head = el("div", { class: "print-head" });
  const fill = (): void => {
    const target = focus.targetIn(report);
    const device = report.results.find((result) => result.target === target)?.device || target;
    const { file, model, sha256, litecast_version, bundle, schema_version, what_if } = report;
    const changes = what_if ? scenarioWords(what_if) : [];
    const facts = [format.text(format.bytes(model.file_bytes)), model.precision === "none" ? "" : model.precision, format.plural(model.n_operators, "operator"), ...changes, sha256 ? `SHA-256 ${sha256.slice(0, 16)}…` : ""];
    head.replaceChildren(
      el("h1", {}, file),
      el("p", {}, `${device} · ${new Date().toLocaleString("en", { dateStyle: "long", timeStyle: "short" })} · ${facts.filter(Boolean).join(" · ")}`),
      el("p", {}, `LiteCast ${litecast_version}${bundle ? `, trained network ${bundle}` : ""}, report schema ${schema_version}`),
    );
  };
  addEventListener("beforeprint", fill, { signal });
  focus.onChange(fill, signal);
  fill();
  return head;
}
