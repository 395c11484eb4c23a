/** A changed network or target that is looked at before it has a report of its own. */
import type { Report } from "./report.ts";

/** What sliders show, for those who draw it over what was before. */
export class Preview {
  #report: Report | null = null;
  readonly #listeners: (() => void)[] = [];

  /** Null while nothing is changed. */
  get report(): Report | null {
    return this.#report;
  }

  show(report: Report | null): void {
    if (report === this.#report) return;
    this.#report = report;
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }
}
