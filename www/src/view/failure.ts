/** A file that gives no report: what was expected, what was found. */
import { el } from "../dom.ts";
import { KnownError } from "../worker_messenger.ts";
import type { Sizes } from "../scenario.ts";
import { sizesForm } from "./open_dimensions.ts";
import { asSentence } from "../words.ts";

/** What a person can do about each kind of error, where there is something. */
const ADVICE: Record<string, string> = {
  "not-tflite": "Drop a TensorFlow Lite file, whose bytes 4 to 7 read TFL3, or an ONNX file.",
  batch: "Set the batch back to 1, or drop the model as converted for several inputs at a time.",
  asset: "The page is not served completely. Build it again with make serve.",
  internal: "This is a defect of LiteCast, not of the file. The next file starts afresh.",
  "time-limit": "The next file starts afresh.",
  gone: "Open the file again.",
  link: "Copy the whole link again, or ask for the report as a file.",
};

/** `give` takes the sizes that a file leaves open, where it is at hand. */
export function failurePanel(file: string, error: unknown, give: ((sizes: Sizes) => void) | null = null): HTMLElement {
  const kind = error instanceof KnownError ? error.kind : "internal";
  const message = error instanceof Error ? error.message : String(error);
  const names = error instanceof KnownError ? error.dimensions : [];
  return el(
    "section",
    { class: "failure-panel panel", role: "alert", "data-kind": kind },
    el("h2", {}, headline(file, kind)),
    el("p", { class: "message" }, asSentence(message)),
    names.length > 0 && give ? sizesForm(names, give) : null,
    ADVICE[kind] ? el("p", {}, ADVICE[kind]) : null,
    el("p", { class: "subtle" }, "Drop another file at any time."),
  );
}

function headline(file: string, kind: string): string {
  if (kind === "batch") return `${file} has no estimates for this batch`;
  return kind === "unknown-dimension" ? `${file} leaves sizes open` : `${file} could not be read`;
}
