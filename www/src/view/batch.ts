/** How many inputs at a time the estimates are for. */
import { el } from "../dom.ts";

/** `change` is called with a new number, once it is complete. */
export function batchControl(batch: number, change: (batch: number) => void): HTMLElement {
  const apply = (): void => {
    const wanted = input.valueAsNumber;
    if (input.validity.valid && wanted !== batch) change(wanted);
  };
  const input = el("input", { type: "number", min: 1, step: 1, required: true, value: batch, onchange: apply });
  return el("label", { class: "batch", title: "Inputs at a time. NPUs take one." }, "Batch", input);
}
