/** A file that gives no report: what was expected, what was found. */
import { el } from "../dom.ts";
import { KnownError } from "../messenger.ts";
import { sentence } from "./diagnostics.ts";

/** What a person can do about each kind of error, where there is something. */
const ADVICE: Record<string, string> = {
  "not-tflite": "Drop a TensorFlow Lite file, whose bytes 4 to 7 read TFL3, or an ONNX file.",
  batch: "Set the batch back to 1, or drop the model as converted for several inputs at a time.",
  asset: "The page is not served completely. Build it again with make serve.",
  internal: "This is a defect of LiteCast, not of the file. The next file starts afresh.",
  "time-limit": "The next file starts afresh.",
  gone: "Open the file again.",
};

export function failurePanel(file: string, error: unknown): HTMLElement {
  const kind = error instanceof KnownError ? error.kind : "internal";
  const message = error instanceof Error ? error.message : String(error);
  return el(
    "section",
    { class: "failure-panel panel", role: "alert", "data-kind": kind },
    el("h2", {}, kind === "batch" ? `${file} has no estimates for this batch` : `${file} could not be read`),
    el("p", { class: "message" }, sentence(message)),
    ADVICE[kind] ? el("p", {}, ADVICE[kind]) : null,
    el("p", { class: "subtle" }, "Drop another file at any time."),
  );
}
