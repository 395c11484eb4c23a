/** The estimator, as a program has it after `load()`. */
import type * as api from "../types/index.d.ts";
import { FAMILIES, TARGETS } from "./catalogue.ts";
import { bytesOf, iniText, listOf, modelBytes, number, plainObject, prepareApplication, prepareCalibration, prepareChanges, prepareFiles, prepareLimits, prepareNeed, prepareTargets, type Prepared, type PreparedFile, prepareOptions, sizeError, text } from "./arguments.ts";
import { compareReports } from "./compare.ts";
import { fromModule, inWords, isLitecastError, LitecastError, reading, wrongArgument } from "./errors.ts";
import { migrated } from "./migrate.ts";
import type { Engine as ModuleEngine } from "./module.d.ts";

/** What wasm-bindgen writes. */
export type Module = typeof import("./module.d.ts");

/** A trained predictor as it is loaded. */
export interface PredictorFiles {
  network: Uint8Array;
  manifest: string;
}

/**
 * Files of one call of the module: few enough that the copies of their bytes stay small in its memory, which never
 * shrinks, and many enough that the calls themselves take no time.
 */
const MAX_CHUNK_BYTES = 4 * 1024 ** 2;
const MAX_CHUNK_FILES = 64;

type Info = Omit<api.TargetInfo, "is_default" | "description">;

/** With what the target is: the catalogue has every target of the module that was built with it. */
function described(info: Info, is_default: boolean): api.TargetInfo {
  const { family, ...description } = TARGETS[info.id];
  return { ...info, is_default, description: { ...description, family: FAMILIES[family] } };
}

/** Lists of targets that the module keeps: those that were used last. A program has a handful. */
const MAX_TARGET_LISTS = 64;

/** The estimator over one instance of the module. */
export class LiteCast implements api.LiteCast {
  readonly #module: Module;
  readonly #memory: WebAssembly.Memory;
  #engine: ModuleEngine | null;
  /** Not yet loaded: the first estimate does that. */
  #pending: PredictorFiles | null;
  readonly #sha256: ((bytes: Uint8Array) => string) | undefined;
  /** The list that was used last stands last. */
  readonly #chosen = new Map<string, number>();
  #gpus: Info[] = [];
  #accelerators: Info[] = [];
  readonly version: string;
  declare [Symbol.dispose]: () => void;

  /** `sha256` is for files whose hash is not known, where that takes less time than the module takes. */
  constructor(module: Module, memory: WebAssembly.Memory, predictor: PredictorFiles | null, sha256?: (bytes: Uint8Array) => string) {
    this.#sha256 = sha256;
    this.#module = module;
    this.#memory = memory;
    this.#engine = new module.Engine();
    this.#pending = predictor;
    this.version = module.version();
  }

  get memory_bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  analyze(model: api.BytesSource | api.Graph, options?: api.EstimateOptions): api.Report {
    return this.#one(model, options, false);
  }

  estimate(model: api.BytesSource | api.Graph, options?: api.EstimateOptions): api.Report {
    return this.#one(model, options, true);
  }

  estimateMany(models: Iterable<api.BytesSource | api.Graph | api.ModelFile>, options?: api.EstimateOptions): (api.Report | LitecastError)[] {
    const prepared = prepareOptions(options);
    return this.#many(prepareFiles(models, prepared), prepared, true);
  }

  estimateChanged(model: api.BytesSource | api.Graph, changes: api.Changes, options?: api.EstimateOptions): api.Report {
    this.#loadPredictor();
    const { file, targets, is_summary } = this.#changed(model, options);
    const prepared_changes = prepareChanges(changes);
    return this.#call(() => this.#alive().estimateChanged(file, targets, prepared_changes, true, is_summary));
  }

  leftOut(model: api.BytesSource | api.Graph, changes: api.Changes, options: api.EstimateOptions): api.LeftOut[][] {
    const { file, targets } = this.#changed(model, options);
    const prepared_changes = prepareChanges(changes);
    return this.#call(() => this.#module.leftOut(file, targets, prepared_changes));
  }

  accelerators(vela_ini?: string): api.Accelerators {
    const ini = vela_ini === undefined ? undefined : iniText(vela_ini, "vela_ini");
    return this.#call(() => this.#module.accelerators(ini));
  }

  inForce(target: api.TargetId | api.TargetChoice): api.InForce {
    const [choice] = prepareTargets([target]);
    return this.#call(() => this.#module.inForce(choice));
  }

  compare(before: api.Report, after: api.Report): api.Comparison {
    return compareReports(before, after);
  }

  calibrate(measurements: Iterable<api.Measurement>): api.Calibration {
    const list = listOf(measurements, "measurements").map((measurement, idx) => prepareMeasurement(measurement, `measurements[${idx}]`));
    const targets = Object.keys(list[0]?.estimates_ms ?? {});
    const estimates_ms = list.flatMap(({ estimates_ms }) => targets.map((target) => (Object.hasOwn(estimates_ms, target) ? estimates_ms[target]! : 0)));
    const measured_ms = list.map(({ measured_ms }) => measured_ms);
    const numbers = this.#call(() => this.#module.fitCalibration(targets.length, new Float64Array(estimates_ms), new Float64Array(measured_ms)));
    const [center, intercept, slope, left_out_percent, left_out_worst_factor, target] = numbers as unknown as [number, number, number, number, number, number];
    return { target: targets[target]!, center, intercept, slope, n_measurements: list.length, left_out_percent, left_out_worst_factor };
  }

  calibrated(calibration: api.Calibration, network: api.Report | Record<string, number>): api.Calibrated {
    const { target, center, intercept, slope, n_measurements, left_out_percent, left_out_worst_factor } = prepareCalibration(calibration);
    const estimates_ms = latencies(network, "network");
    const estimate_ms = Object.hasOwn(estimates_ms, target) ? estimates_ms[target] : undefined;
    const ends = this.#call(() => this.#module.applyCalibration(target, new Float64Array([center, intercept, slope, left_out_percent, left_out_worst_factor]), estimate_ms));
    const [latency_ms, lo_ms, hi_ms] = ends as unknown as [number, number, number];
    return { latency_ms, lo_ms, hi_ms, target, n_measurements, left_out_percent };
  }

  targets(): api.TargetInfo[] {
    this.#loadPredictor();
    const registered = this.#call(() => this.#alive().targets() as Info[]);
    const ids = new Set(registered.map(({ id }) => id));
    const others = this.#call(() => this.#module.knownTargets() as Info[]).filter(({ id }) => !ids.has(id));
    others.push(...this.#gpus, ...this.#accelerators);
    return [...registered.map((info) => described(info, true)), ...others.map((info) => described(info, false))];
  }

  defaultTargets(): string[] {
    return this.#call(() => this.#module.registeredTargets());
  }

  boards(): api.Boards {
    return this.#call(() => this.#module.boards());
  }

  fits(need: api.Fits["need"], application: api.Application): api.Fits {
    const prepared = prepareApplication(application, "application");
    const prepared_need = prepareNeed(need);
    return this.#call(() => this.#module.fitsOfNeed(prepared_need, prepared));
  }

  loadGpus(constants: api.BytesSource): api.TargetInfo[] {
    const bytes = modelBytes(constants, "constants");
    this.#gpus = this.#call(() => this.#alive().loadGpus(bytes));
    return this.#gpus.map((info) => described(info, false));
  }

  loadAccelerators(constants: api.BytesSource): api.TargetInfo[] {
    const bytes = modelBytes(constants, "constants");
    this.#accelerators = this.#call(() => this.#alive().loadAccelerators(bytes));
    return this.#accelerators.map((info) => described(info, false));
  }

  sweep(model: api.BytesSource | api.Graph, limits: api.Limits, changes: api.Changes = {}, options?: api.EstimateOptions): api.Sweep {
    this.#loadPredictor();
    const { file } = this.#changed(model, options);
    const prepared = prepareLimits(limits);
    const prepared_changes = prepareChanges(changes);
    return this.#call(() => this.#alive().sweep(file, prepared, prepared_changes));
  }

  sweepBatch(model: api.BytesSource | api.Graph, target: string, changes: api.Changes = {}, options?: api.EstimateOptions): api.BatchSweep | null {
    const { file } = this.#changed(model, options);
    const prepared_changes = prepareChanges(changes);
    const gpu = text(target, "target");
    return this.#call(() => this.#alive().sweepBatch(file, gpu, prepared_changes));
  }

  dispose(): void {
    this.#engine?.free();
    this.#engine = null;
    this.#pending = null;
  }

  /** One file, on the targets of every report where none are chosen. */
  #changed(model: api.BytesSource | api.Graph, options: api.EstimateOptions | undefined): { file: PreparedFile; targets: api.TargetChoice[]; is_summary: boolean } {
    const { name, batch, threads, dimensions, application, precision, targets, is_summary } = prepareOptions(options);
    const chosen = targets ?? this.defaultTargets().map((target) => ({ target }));
    return { file: { name, bytes: modelBytes(model, "model"), batch, threads, dimensions, application, precision }, targets: chosen, is_summary };
  }

  #one(model: api.BytesSource | api.Graph, options: api.EstimateOptions | undefined, is_learned: boolean): api.Report {
    const prepared = prepareOptions(options);
    const { name, batch, threads, dimensions, application, precision } = prepared;
    const [report] = this.#many([{ name, bytes: bytesOf(model, "model"), batch, threads, dimensions, application, precision }], prepared, is_learned);
    if (isLitecastError(report)) throw report;
    return report!;
  }

  #many(files: PreparedFile[], { targets, is_summary }: Prepared, is_learned: boolean): (api.Report | LitecastError)[] {
    const engine = this.#alive();
    if (is_learned) this.#loadPredictor();
    const chosen = targets && this.#choose(targets);
    const reports: (api.Report | LitecastError)[] = [];
    for (const chunk of chunks(files)) {
      const error = sizeError(chunk[0]!.bytes, "model");
      if (error) {
        // So long a file is the only one of its chunk.
        reports.push(error);
        continue;
      }
      // A summary has none.
      if (this.#sha256 && !is_summary) for (const file of chunk) file.sha256 ??= this.#sha256(file.bytes);
      const entries = this.#call(() => estimateChunk(engine, chunk, chosen, is_learned, is_summary));
      for (const [idx, entry] of entries.entries()) reports.push(entry instanceof Error ? fromModule(entry, chunk[idx]!.name) : entry);
    }
    return reports;
  }

  #choose(targets: api.TargetChoice[]): number {
    const key = JSON.stringify(targets);
    const chosen = this.#chosen.get(key) ?? this.#call(() => this.#alive().choose(targets));
    this.#chosen.delete(key);
    this.#chosen.set(key, chosen);
    if (this.#chosen.size > MAX_TARGET_LISTS) {
      const [oldest, list] = this.#chosen.entries().next().value!;
      this.#chosen.delete(oldest);
      this.#alive().release(list);
    }
    return chosen;
  }

  #loadPredictor(): void {
    if (!this.#pending) return;
    const { network, manifest } = this.#pending;
    this.#call(() => this.#alive().loadPredictor(network, manifest));
    this.#pending = null;
  }

  #alive(): ModuleEngine {
    if (this.#engine) return this.#engine;
    throw new LitecastError("disposed", "this estimator was disposed of; load() makes a new one");
  }

  #call<Value>(call: () => Value): Value {
    try {
      return call();
    } catch (error) {
      throw fromModule(error);
    }
  }
}

// Not in the class, so that engines without the symbol load it.
const dispose: symbol | undefined = Symbol.dispose;
if (dispose) Object.defineProperty(LiteCast.prototype, dispose, { value: LiteCast.prototype.dispose, writable: true, configurable: true });

/** A file that the module has no memory for is one of its own chunk, and its error that of the chunk. */
function estimateChunk(engine: ModuleEngine, chunk: PreparedFile[], ...how: [number | null, boolean, boolean]): (api.Report | Error)[] {
  try {
    return engine.estimateMany(chunk, ...how) as (api.Report | Error)[];
  } catch (error) {
    if (chunk.length === 1 && (error as Partial<LitecastError>).kind === "too-large") return [error as Error];
    throw error;
  }
}

function* chunks(files: PreparedFile[]): Generator<PreparedFile[]> {
  let chunk: PreparedFile[] = [];
  let n_bytes = 0;
  for (const file of files) {
    if (chunk.length > 0 && (chunk.length === MAX_CHUNK_FILES || n_bytes + file.bytes.length > MAX_CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      n_bytes = 0;
    }
    chunk.push(file);
    n_bytes += file.bytes.length;
  }
  if (chunk.length > 0) yield chunk;
}

function prepareMeasurement(measurement: unknown, place: string): { estimates_ms: Record<string, number>; measured_ms: number } {
  return reading(place, () => {
    const { measured_ms, estimates_ms, report } = plainObject(measurement, place);
    if (typeof measured_ms !== "number") throw wrongArgument(`${place}.measured_ms: expected a number, found ${inWords(measured_ms)}`);
    return { estimates_ms: latencies(estimates_ms ?? report, place), measured_ms };
  });
}

/** Estimated latencies by target id, of a report or as they are. */
const latencies = (network: unknown, place: string): Record<string, number> => reading(place, () => readLatencies(network, place));

function readLatencies(network: unknown, place: string): Record<string, number> {
  const given = plainObject(network, place);
  const { results: listed } = given;
  if (!Array.isArray(listed)) {
    const named = Object.entries(given).map(([target, ms]): [string, number] => {
      if (typeof ms === "number") return [target, ms];
      throw wrongArgument(`${place}: expected a latency in ms for ${text(target, "target")}, found ${inWords(ms)}`);
    });
    return Object.fromEntries(named);
  }
  const objects = listOf(listed, place).filter((result): result is api.Result => typeof result === "object" && result !== null);
  const { results = [] } = migrated({ ...(given as Partial<api.Report>), results: objects }) ?? {};
  const latencies = results.flatMap(({ metric, target, value }) => (metric === "latency" && value !== undefined ? [[target, number(value, `${place}: the latency of ${text(target, "target")}`)] as const] : []));
  return Object.fromEntries(latencies);
}
