/** The selected operator, and those who want to know. */

/** Called with the chosen operator, or null, and with the part of the page that chose it. */
export type SelectionListener = (index: number | null, source: string) => void;

/** The operator that all parts of the page show. */
export class Selection {
  #index: number | null = null;
  readonly #listeners: SelectionListener[] = [];

  get index(): number | null {
    return this.#index;
  }

  /** `source` names the view that the person used, so that it need not scroll under their hand. */
  select(index: number | null, source: string): void {
    if (index === this.#index) return;
    this.#index = index;
    for (const listener of this.#listeners) listener(index, source);
  }

  onChange(listener: SelectionListener): void {
    this.#listeners.push(listener);
  }
}
