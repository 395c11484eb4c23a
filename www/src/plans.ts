/**
 * The best next step: of all plans of a few changes the one that meets a budget with the fewest multiply-accumulates
 * removed. Every plan that is compared was estimated.
 */
import { type Budget, limitOf } from "./budget.ts";
import type { Hardware, PlanSpace, Way } from "./plan_space.ts";
import { type Report, isEstimate } from "./report.ts";
import { type Scenario, factorText } from "./scenario.ts";
import { type Verdict, verdictOn } from "./verdict.ts";

/** A network changed in some ways, on hardware that may be another, with its estimates. */
export interface Plan {
  /** Each change in words, from the one that costs least. */
  changes: readonly string[];
  scenario: Scenario;
  hardware: Hardware;
  report: Report;
  verdict: Verdict;
  /** Of the network as it is; negative where there are more. */
  removed_macs: number;
  /** The largest part of a limit that it takes; infinite where an estimate that a limit asks for is missing. */
  load: number;
}

/** What a plan is found for. */
export interface Planned {
  report: Report;
  scenario: Scenario;
  budget: Budget;
  /** SRAM of the board, where that is known. */
  sram_bytes: number | null;
}

/** Estimates a network on several targets; null where it cannot be built. */
export type Explore = (scenario: Scenario, hardware: readonly Hardware[]) => Promise<Report | null>;

/** What a search came to. */
export interface Search {
  plan: Plan | null;
  /** Where no plan meets the budget, the one that comes nearest. */
  nearest: Plan | null;
  n_estimates: number;
  /** False where a bound ended the search before it had looked at all that it wanted to. */
  is_complete: boolean;
}

/** Changes of one plan: more of them nobody tries at once. */
export const MAX_CHANGES = 3;
/** Estimates of networks; each is on all hardware that is compared. */
const MAX_ESTIMATES = 240;
const MAX_MS = 20_000;
/** Ways to run a smaller network that are tried: those that came nearest to the budget with the network as it is. */
const MAX_WAYS = 3;

/** Whether a verdict asks for nothing more. */
export function meetsBudget({ kind }: Verdict): boolean {
  return kind === "meets" || kind === "stated";
}

/** Whether `a` is better than `b`, where both meet the budget. */
export function isBetterPlan(a: Plan, b: Plan | null): boolean {
  if (b === null) return true;
  const keys = (plan: Plan): number[] => [plan.removed_macs, plan.changes.length, plan.hardware.device === null ? plan.hardware.distance : 0, plan.load];
  const [left, right] = [keys(a), keys(b)];
  const differs = left.findIndex((key, i) => key !== right[i]);
  return differs >= 0 && left[differs] < right[differs];
}

function loadOf(report: Report, target: string, { budget, sram_bytes }: Planned): number {
  const estimates = report.results.filter(isEstimate).filter((estimate) => estimate.target === target);
  const parts = estimates.flatMap(({ metric, value, hi = value }) => {
    const limits = [limitOf(metric, budget), metric === "sram_peak" ? sram_bytes : null].filter((limit) => limit !== null);
    return limits.map((limit) => hi / limit);
  });
  const latency = estimates.find(({ metric }) => metric === "latency");
  if (budget.latency_ms !== null && !latency) return Infinity;
  if (budget.rate_hz !== null) parts.push(latency ? ((latency.hi ?? latency.value) * budget.rate_hz) / (1000 * report.batch) : Infinity);
  return Math.max(0, ...parts);
}

/** What makes a network smaller by these factors, in words. */
function smallerWords(by_resolution: number, by_width: number): string[] {
  return [by_resolution < 1 ? `take ${factorText(by_resolution)} the input resolution` : "", by_width < 1 ? `give its layers ${factorText(by_width)} the width` : ""].filter(Boolean);
}

/** The plan of a changed network on one hardware; `report` has its estimates. */
function planOn(hardware: Hardware, [changes, smaller]: readonly (readonly string[])[], scenario: Scenario, report: Report, planned: Planned): Plan {
  const target = hardware.choice.name;
  return {
    changes: [...changes, ...(hardware.words === null ? [] : [hardware.words]), ...smaller],
    scenario,
    hardware,
    report,
    verdict: verdictOn(report, target, planned.budget, hardware.distance === 0 ? planned.sram_bytes : null),
    removed_macs: planned.report.model.macs - report.model.macs,
    load: loadOf(report, target, planned),
  };
}

/** The ways that come nearest to the budget, the best single change among them, and the network as it is; few changes first. */
function bestWays(ways: readonly Way[], load_of_way: ReadonlyMap<Way, number>): Way[] {
  const ranked = ways.toSorted((a, b) => (load_of_way.get(a) ?? Infinity) - (load_of_way.get(b) ?? Infinity) || a.words.length - b.words.length);
  const as_it_is = ways.filter(({ words }) => words.length === 0);
  const single = ranked.filter(({ words }) => words.length === 1).slice(0, 1);
  return [...new Set([...ranked.slice(0, MAX_WAYS), ...single, ...as_it_is])].sort((a, b) => a.words.length - b.words.length);
}

/** The networks of a search by their factors, each with what was found on it. */
class PlanSearch {
  readonly #planned: Planned;
  readonly #space: PlanSpace;
  readonly #explore: Explore;
  readonly #signal: AbortSignal;
  readonly #until = performance.now() + MAX_MS;
  readonly #known = new Map<string, Promise<boolean>>();
  #ways: readonly Way[];
  best: Plan | null = null;
  nearest: Plan | null = null;
  n_estimates = 0;

  constructor(planned: Planned, space: PlanSpace, explore: Explore, signal: AbortSignal) {
    this.#planned = planned;
    this.#space = space;
    this.#explore = explore;
    this.#signal = signal;
    this.#ways = space.ways;
  }

  get is_over(): boolean {
    return this.#signal.aborted || this.n_estimates >= MAX_ESTIMATES || performance.now() > this.#until;
  }

  /** Whether some plan with these factors meets the budget. `resolution` and `width` are places in the factors. */
  meets(resolution: number, width: number): Promise<boolean> {
    const key = `${resolution} ${width}`;
    const known = this.#known.get(key) ?? this.#tryAll(resolution, width);
    this.#known.set(key, known);
    return known;
  }

  isKnown(resolution: number, width: number): boolean {
    return this.#known.has(`${resolution} ${width}`);
  }

  /** All ways with the network as it is; from then on only the best of them are tried. */
  async keepBestWays(): Promise<void> {
    const load_of_way = new Map<Way, number>();
    for (const way of this.#space.ways) {
      const plans = await this.#plansOf(way, 0, 0);
      load_of_way.set(way, Math.min(Infinity, ...plans.map(({ load }) => load)));
    }
    this.#ways = bestWays(this.#space.ways, load_of_way);
    this.#known.set("0 0", Promise.resolve(this.best !== null));
  }

  async #tryAll(resolution: number, width: number): Promise<boolean> {
    let is_met = false;
    for (const way of this.#ways) {
      if (this.is_over) return false;
      const plans = await this.#plansOf(way, resolution, width);
      is_met ||= plans.some(({ verdict }) => meetsBudget(verdict));
    }
    return is_met;
  }

  /** On all hardware that few enough changes allow; the best of them is remembered. */
  async #plansOf(way: Way, resolution: number, width: number): Promise<Plan[]> {
    const [by_resolution, by_width] = [this.#space.factors[resolution], this.#space.factors[width]];
    const smaller = smallerWords(by_resolution, by_width);
    const n_changes = way.words.length + smaller.length;
    const hardware = this.#space.hardware.filter(({ words }) => n_changes + (words === null ? 0 : 1) <= MAX_CHANGES);
    if (hardware.length === 0 || n_changes > MAX_CHANGES || this.is_over) return [];
    const scenario = { ...way.scenario, resolution: way.scenario.resolution * by_resolution, width: way.scenario.width * by_width };
    this.n_estimates++;
    const report = await this.#explore(scenario, hardware);
    if (!report || this.#signal.aborted) return [];
    const plans = hardware.map((one) => planOn(one, [way.words, smaller], scenario, report, this.#planned));
    for (const plan of plans.filter(({ changes }) => changes.length > 0)) {
      if (meetsBudget(plan.verdict) && isBetterPlan(plan, this.best)) this.best = plan;
      if (plan.load < (this.nearest?.load ?? Infinity)) this.nearest = plan;
    }
    return plans;
  }
}

/** What is made smaller. */
type Axis = "resolution" | "width";

/**
 * First all plans that remove nothing. If none meets the budget, the border between networks that meet it and those that
 * do not is followed, which takes as many estimates as it is long; then what lies just beyond it is looked at, because
 * costs do not fall with every step.
 */
export async function findPlan(planned: Planned, space: PlanSpace, explore: Explore, signal: AbortSignal): Promise<Search> {
  const search = new PlanSearch(planned, space, explore, signal);
  await search.keepBestWays();
  if (search.best === null && !search.is_over) await shrink(search, space.factors, planned.report.model.macs);
  return { plan: search.best, nearest: search.best === null ? search.nearest : null, n_estimates: search.n_estimates, is_complete: !search.is_over };
}

async function shrink(search: PlanSearch, factors: readonly number[], macs: number): Promise<void> {
  const n = factors.length;
  const at = (axis: Axis, place: number): Promise<boolean> => (axis === "width" ? search.meets(0, place) : search.meets(place, 0));
  for (const axis of ["width", "resolution"] as const) await firstThat((place) => at(axis, place), 1, n);
  // From the widest network of the smallest resolution to the narrowest of the largest.
  let width = 1;
  for (let resolution = n - 1; resolution >= 1 && width < n && !search.is_over; ) {
    if (await search.meets(resolution, width)) resolution--;
    else width++;
  }
  await lookBeyond(search, factors, macs);
}

/** The first place of a sequence that is first false and then true, or `n`. */
async function firstThat(holds: (place: number) => Promise<boolean>, from: number, n: number): Promise<number> {
  let [low, high] = [from, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Networks with somewhat more multiply-accumulates than the best plan has, from the nearest. */
async function lookBeyond(search: PlanSearch, factors: readonly number[], macs: number): Promise<void> {
  const n = factors.length;
  const share = (resolution: number, width: number): number => factors[resolution] ** 2 * factors[width] ** WIDTH_EXPONENT;
  for (let best = search.best; best !== null && !search.is_over; best = search.best) {
    const kept = 1 - best.removed_macs / macs;
    const cells = Array.from({ length: n * n }, (_, i) => [Math.floor(i / n), i % n] as const)
      .filter(([resolution, width]) => !search.isKnown(resolution, width) && share(resolution, width) > kept * SLACK)
      .sort(([r, w], [other_r, other_w]) => share(r, w) - share(other_r, other_w))
      .slice(0, MAX_BEYOND);
    for (const [resolution, width] of cells) await search.meets(resolution, width);
    if (search.best === best) return;
  }
}

/** Multiply-accumulates grow with the width of what comes before and after a layer, but those of depthwise layers with one of both. */
const WIDTH_EXPONENT = 1.8;
/** Shares of multiply-accumulates are known only roughly before an estimate. */
const SLACK = 0.93;
const MAX_BEYOND = 24;
