/** The target that a person looks at, and the measure that colours its operators; remembered in this browser. */
import { type Measure, measuresOf } from "./costs.ts";
import { type Report, isEstimate } from "./report.ts";
import { rememberTarget } from "./remembered_targets.ts";

const TARGET_KEY = "litecast.target";
const METRIC_KEY = "litecast.metric";

/** The target and the measure that all parts of the page show; its listeners are told of changes. */
export class Focus {
  #target = read(TARGET_KEY) ?? "";
  /** Null where none was chosen. */
  #metric = read(METRIC_KEY);
  readonly #listeners: (() => void)[] = [];

  /** The target that was looked at last, of whatever report. */
  get wanted(): string {
    return this.#target;
  }

  /** The chosen target where `report` speaks of it, else the first with an estimate. */
  targetIn({ results }: Pick<Report, "results">): string {
    const known = results.find(({ target }) => target === this.#target);
    return (known ?? results.find(isEstimate) ?? results[0])?.target ?? "";
  }

  /** The chosen measure of the chosen target, else its latency, else the first that there is. */
  measureIn(report: Report): Measure | null {
    const measures = measuresOf(report, this.targetIn(report));
    const measureOf = (metric: string): Measure | undefined => measures.find((measure) => measure.metric === metric);
    return measureOf(this.#metric ?? "") ?? measureOf("latency") ?? measures[0] ?? null;
  }

  chooseTarget(target: string): void {
    if (target !== this.#target) rememberTarget(target, this.#target);
    this.#target = target;
    write(TARGET_KEY, target);
    this.#tell();
  }

  chooseMetric(metric: string): void {
    this.#metric = metric;
    write(METRIC_KEY, metric);
    this.#tell();
  }

  /** The results of the shown report have changed, or the budget. */
  refresh(): void {
    this.#tell();
  }

  onChange(listener: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.push(listener);
    signal.addEventListener("abort", () => this.#listeners.splice(this.#listeners.indexOf(listener), 1));
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
}
