/** Reports of older versions → the same numbers as this version has them: `src/report/migrate.rs` in JavaScript. */
import type { Evidence, Fits, ModelFacts, Result } from "../types/index.d.ts";

/** As `REPORT_VERSION` of the crate. */
const REPORT_VERSION = 2;

/** What reports and their kept excerpts share. An excerpt of version 1 says no version. */
interface Stored {
  schema_version?: number;
  results: Result[];
  model?: Partial<ModelFacts>;
  batch?: number;
  left_out?: { targets?: string[] }[];
  diagnostics?: { targets?: string[] }[];
  fits?: (Pick<Fits, "need"> & Partial<Pick<Fits, "boards">>) | null;
}

/** Null for a version that is not known. One of this version is returned as it is. */
export function migrated<Of extends Stored>(report: Of): Of | null {
  const { schema_version: version = 1 } = report;
  if (version === REPORT_VERSION) return report;
  if (version !== 1) return null;
  const { model, results } = withWholeArena(report);
  const is_board = results.some(({ metric, target }) => (metric as string) === "board_latency" && target === BOARD_NPU);
  const named = is_board ? results.map(onBoard) : results;
  const { fits } = report;
  const boards = fits?.boards?.map(withEvidenceOfBoard);
  const parts = {
    ...(model ? { model } : {}),
    ...(fits ? { fits: { ...fits, need: { ...fits.need, max_arena_bytes: null, stack_bytes: 0, kernels: [], refused: [] }, ...(boards ? { boards } : {}) } } : {}),
  };
  const lists = Object.fromEntries((["left_out", "diagnostics"] as const).flatMap((name) => (is_board && report[name] ? [[name, report[name].map(targetsOnBoard)]] : [])));
  return { ...report, schema_version: REPORT_VERSION, ...parts, ...lists, results: withWholeBatches(withWholeFiles(withWholeLatencies(named)), report.batch ?? 1).map(withEvidence) };
}

/** In version 1, the NPU of a measured board had the id of the NPU, which is the compiler's now. One board was measured. */
const BOARD_NPU = "ethos-u65-256";
const BOARD_TARGET = `imx93/${BOARD_NPU}`;

function onBoard(result: Result): Result {
  return result.target === BOARD_NPU ? { ...result, target: BOARD_TARGET, device: `NXP i.MX 93: ${result.device}` } : result;
}

function targetsOnBoard<Entry extends { targets?: string[] }>(entry: Entry): Entry {
  return entry.targets ? { ...entry, targets: entry.targets.map((target) => (target === BOARD_NPU ? BOARD_TARGET : target)) } : entry;
}

/** In version 1, the energy of a GPU, which has a throughput, was that of one input of the batch. */
function withWholeBatches(results: readonly Result[], batch: number): Result[] {
  const targets = new Set(results.filter(({ metric }) => metric === "throughput").map(({ target }) => target));
  const whole = <End extends "value" | "lo" | "hi">(result: Result, end: End): object => (typeof result[end] === "number" ? { [end]: result[end] * batch } : {});
  return results.map((result) => (batch > 1 && result.metric === "energy" && targets.has(result.target) ? { ...result, ...whole(result, "value"), ...whole(result, "lo"), ...whole(result, "hi") } : result));
}

/** In version 1, the arena was its part for activations, beside the whole in `fits`. */
function withWholeArena<Of extends Stored>({ model, fits, results }: Of): Pick<Stored, "model" | "results"> {
  const whole = fits?.need.arena_bytes ?? null;
  const of_micro = (result: Result): Result[] => {
    if (result.target !== "tflite-micro" || result.metric !== "arena" || result.value === undefined) return [result];
    return whole === null ? [] : [{ ...result, value: whole, provenance: { ...result.provenance, kind: "modelled", reference: "runtime" } }];
  };
  return { ...(model ? { model: { ...model, activation_bytes: model.arena_bytes ?? null, arena_bytes: whole } } : {}), results: results.flatMap(of_micro) };
}

/** As `Provenance::evidence` of the crate. */
const BY_REFERENCE = new Map<string, Evidence>(Object.entries({ measured: "measured", "measured-kind-left-out": "measured", "measured-parts": "assumed", runtime: "counted", compiler: "compiler" }));
const BY_KIND = new Map<string, Evidence>(Object.entries({ exact: "counted", "compiler rules": "compiler", "learned from compiler estimate": "compiler", "learned from measured": "measured", "learned from emulated": "assumed" }));

/** Version 1 did not say what a number rests on. Where its source does not tell, neither does this. */
function withEvidence(result: Result): Result {
  if (result.value === undefined) return result;
  const { kind = "", reference } = (result.provenance ?? {}) as Partial<typeof result.provenance>;
  const evidence = BY_KIND.get(kind) ?? BY_REFERENCE.get(reference ?? "");
  return evidence ? { ...result, evidence } : result;
}

/** A latency on a board is measured there, or assumed to be that of other boards with its core. */
function withEvidenceOfBoard(board: Fits["boards"][number]): Fits["boards"][number] {
  const { latency } = board;
  return latency ? { ...board, latency: { ...latency, evidence: latency.is_transferred ? "assumed" : "measured" } } : board;
}

/** In version 1, `weights_flash` was the whole file under an interpreter, whose targets have an arena. */
function withWholeFiles(results: readonly Result[]): Result[] {
  const targets = new Set(results.filter(({ metric }) => metric === "arena").map(({ target }) => target));
  return results.map((result) => (result.metric === "weights_flash" && targets.has(result.target) ? { ...result, metric: "file_flash" } : result));
}

/** In version 1, `latency` was the NPU's part where a target had another metric for the whole network. */
function withWholeLatencies(results: readonly Result[]): Result[] {
  const isWhole = (metric: string): boolean => metric === "board_latency" || metric === "end_to_end_latency";
  const wholes = new Map(results.filter(({ metric }) => isWhole(metric)).map((result) => [result.target, result.value !== undefined]));
  return results.flatMap((result): Result[] => {
    if (isWhole(result.metric)) return [{ ...result, metric: "latency" }];
    const has_value = wholes.get(result.target);
    if (result.metric !== "latency" || has_value === undefined) return [result];
    // A file that was refused as a whole has one reason.
    return has_value || result.value !== undefined ? [{ ...result, metric: "npu_latency" }] : [];
  });
}
