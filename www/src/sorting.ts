/** Heads of columns that sort a table: a button in each, `aria-sort` on the head. */
import { el } from "./dom.ts";

/** By which column a table is sorted, and in which direction. */
export interface Sorting {
  column: number;
  descending: boolean;
}

/** Not known sorts last in both directions. */
export type SortKey = number | string | null;

/** `sort` is called with the number of the column. */
export function sortHead(name: string, unit: string, column: number, sorting: Sorting | null, attributes: Record<string, string>, sort: (column: number) => void): HTMLElement {
  const order = sorting?.column !== column ? "none" : sorting.descending ? "descending" : "ascending";
  const words = unit ? [name, el("span", { class: "unit" }, ` ${unit}`)] : [name];
  return el("th", { scope: "col", "aria-sort": order, ...attributes }, el("button", { type: "button", onclick: () => sort(column) }, ...words));
}

/** What a click on a column makes of the sorting: `first_descending` where the largest are wanted first. */
export function sortingAfter(sorting: Sorting | null, column: number, first_descending = false): Sorting {
  return { column, descending: sorting?.column === column ? !sorting.descending : first_descending };
}

/** The items in the order of their keys; those without one are last. */
export function sortBy<Item>(items: readonly Item[], { descending }: Sorting, key: (item: Item) => SortKey): Item[] {
  return items.toSorted((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
    const order = typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right), "en", { numeric: true });
    return descending ? -order : order;
  });
}
