/** A search over a report's operators, shared by the views that show them. */
import * as format from "./format.ts";
import { KIND_NAMES, kindOf } from "./kinds.ts";
import type { Operator, Report } from "./report.ts";

/** Operators that a text is found in; its listeners are told of changes. */
export class Search {
  readonly #texts: () => string[];
  readonly #listeners: (() => void)[] = [];
  #matches: ReadonlySet<number> | null = null;

  constructor(report: Report) {
    let texts: string[] | null = null;
    this.#texts = () => (texts ??= report.operators.map((operator) => textOf(report, operator)));
  }

  /** Indices of the operators found; null where nothing is searched for. */
  get matches(): ReadonlySet<number> | null {
    return this.#matches;
  }

  /** Operators in which every word stands: in their name, kind, shapes or tensors. */
  find(query: string): void {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const match_idxs = words.length === 0 ? null : this.#texts().flatMap((text, index) => (words.every((word) => text.includes(word)) ? [index] : []));
    this.#matches = match_idxs && new Set(match_idxs);
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }
}

function textOf({ tensors }: Report, operator: Operator): string {
  const used = [...operator.inputs, ...operator.outputs].flatMap((tensor) => (tensor === null ? [] : (tensors[tensor] ?? [])));
  const words = used.map(({ name, shape, type }) => `${name} ${format.shape(shape)} ${type}`);
  return `${operator.name} #${operator.index} ${KIND_NAMES[kindOf(operator)]} ${words.join(" ")}`.toLowerCase();
}
