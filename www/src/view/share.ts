/** The report as JSON, to the clipboard or to a file. */
import { el } from "../dom.ts";
import type { Report } from "../report.ts";

/** Milliseconds after which a button says again what it does. */
const ECHO_MS = 1600;

export function shareButtons(report: Report): HTMLElement {
  const json = (): string => JSON.stringify(report, null, 2);
  const copy = el("button", { type: "button", onclick: () => void copyText(copy, json()) }, "Copy JSON");
  const save = el("button", { type: "button", onclick: () => saveText(json(), `${report.file.replace(/\.tflite$/, "")}.litecast.json`) }, "Save JSON");
  return el("span", { class: "share" }, copy, save);
}

async function copyText(button: HTMLElement, text: string): Promise<void> {
  const before = button.textContent;
  const echo = await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not allowed",
  );
  button.textContent = echo;
  setTimeout(() => (button.textContent = before), ECHO_MS);
}

function saveText(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // the download has begun by then
}
