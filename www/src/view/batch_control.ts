/** How many inputs at a time the estimates are for. */
import { el } from "../dom.ts";

/** The engine takes no more. */
const MAX_BATCH = 1024;

/** The choice of a batch size for one report. */
export interface BatchControl {
  element: HTMLElement;
  /** Says beside the number why it cannot be had, and goes back to the one that is shown. */
  refuse(words: string): void;
}

/** `change` is called with a new number, once it is complete; null where the file is no longer at hand. */
export function batchControl(batch: number, change: ((batch: number) => void) | null): BatchControl {
  const words = el("span", { class: "batch-words", role: "alert", id: "batch-words" });
  const apply = (): void => {
    const wanted = input.valueAsNumber;
    if (!input.validity.valid) {
      words.textContent = `A batch is a whole number from 1 to ${MAX_BATCH.toLocaleString("en")}.`;
    } else {
      words.textContent = "";
      if (wanted !== batch) change?.(wanted);
    }
  };
  const input = el("input", {
    id: "batch",
    type: "number",
    min: 1,
    max: MAX_BATCH,
    step: 1,
    required: true,
    value: batch,
    disabled: change === null,
    "aria-describedby": "batch-words",
    onchange: apply,
  });
  const title = change === null ? "Open the file again to estimate another batch" : "Inputs at a time. NPUs take one.";
  const element = el("span", { class: "batch" }, el("label", { title }, "Batch ", input), words);
  const refuse = (reason: string): void => {
    words.textContent = reason;
    input.value = String(batch);
  };
  return { element, refuse };
}
