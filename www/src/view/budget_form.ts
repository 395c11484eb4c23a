/** What may be spent on one inference, in a row of fields that every view shares. */
import { BUDGET_FIELDS, type BudgetField, readBudget, writeBudget } from "../budget.ts";
import { el } from "../dom.ts";

/** Keeps each number that is entered, and then calls `changed`. Ids begin with `id`. */
export function budgetForm(id: string, changed: () => void): HTMLElement {
  const budget = readBudget();
  const field = ({ name, label, unit }: BudgetField): HTMLElement => {
    const apply = (): void => {
      if (!input.validity.valid) return;
      writeBudget({ ...readBudget(), [name]: input.value === "" || input.valueAsNumber === 0 ? null : input.valueAsNumber });
      changed();
    };
    const input = el("input", { id: `${id}-${label.toLowerCase()}`, type: "number", min: 0, step: "any", value: budget[name], onchange: apply });
    return el("label", { title: label }, el("span", { class: "sr-only" }, `${label} budget in`), input, ` ${unit}`);
  };
  return el("div", { class: "budget", role: "group", "aria-label": "Budget", title: "What may be spent, and how many inferences a second there are to be. Estimates above it turn red." }, "Budget", ...BUDGET_FIELDS.map(field));
}
