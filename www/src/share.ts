/**
 * A report as the fragment of an address, which browsers send to nobody: numbers in columns, deflated, without weights, and
 * without names unless a person wants them. Loaded when a link is made or opened.
 */
import { KnownError } from "./worker_messenger.ts";
import type { Edge, Operator, Report, Result, Tensor } from "./report.ts";
import { readReport } from "./report_check.ts";

/** Before the version of the format and a full stop. */
export const LINK_KEY = "report";
const VERSION_OF_LINKS = 1;

/** A link is made with fewer parts of operators until it is at most this long. */
const WANTED_CHARACTERS = 12_000;
/** Mail and chat programs cut longer ones. */
const MAX_CHARACTERS = 64_000;
/** What a link of so many characters may unfold to; deflate alone would allow a thousand times its length. */
const MAX_UNPACKED_BYTES = 4 * 1024 ** 2;
/** Of values that the columns of a link repeat. */
const MAX_REPEATED_CHARACTERS = 16 * 1024 ** 2;
const MAX_OPERATORS = 20_000;
/** Inputs and outputs of all operators: a short link can repeat hundreds for each, and every one may become an edge. */
const MAX_OPERANDS = 200_000;

/** What a link may leave out. */
export interface LinkOptions {
  /** Of the file, its tensors, signatures and subgraphs. */
  has_names: boolean;
  /** Targets whose parts of operators are wanted, the most wanted first. */
  targets: readonly string[];
}

/** As JSON; numbers of one column stand together, because they repeat. */
interface Packed {
  head: Omit<Report, "results" | "operators" | "tensors" | "edges">;
  provenances: unknown[];
  results: unknown[];
  /** Index of a result, and its part of each operator. */
  parts: [number, number[]][];
  operators: Columns;
  tensors: Columns;
}

/** By the name of a field: a value for each row, or an index into `distinct`. */
type Columns = Record<string, unknown[] | { distinct: unknown[]; rows: number[] }>;

const OPERATOR_FIELDS = ["operator_idx", "name", "custom", "inputs", "outputs", "macs", "parameters", "weight_bytes", "input_bytes", "output_bytes", "live_bytes", "attributes"] as const;
const TENSOR_FIELDS = ["name", "type", "shape", "shape_signature", "bytes", "constant", "variable", "quantization"] as const;

/** The fragment of a link to a report, without `#`. Rejects with a `KnownError` where the report is too long for one. */
export async function linkOf(report: Report, { has_names, targets }: LinkOptions): Promise<string> {
  const shared = has_names ? report : withoutNames(report);
  const all = [...new Set(report.results.map(({ target }) => target))];
  let text = "";
  // With the parts of all targets, of the wanted ones, and at least of the first one.
  for (const wanted of [all, targets, targets.slice(0, 1)]) {
    text = await deflated(JSON.stringify(packed(shared, new Set(wanted))));
    if (text.length <= WANTED_CHARACTERS) break;
  }
  const fragment = `${LINK_KEY}=${VERSION_OF_LINKS}.${text}`;
  if (fragment.length <= MAX_CHARACTERS) return fragment;
  throw new KnownError("too-large", `expected a link of at most ${MAX_CHARACTERS} characters, found ${fragment.length} for ${report.operators.length} operators; save the report as a file instead`);
}

/** The report of a link. Rejects with a `KnownError` for whatever is none. */
export async function reportOfLink(value: string): Promise<Report> {
  const refuse = (found: string): KnownError => new KnownError("link", `expected a link that Copy link made, found ${found}`);
  const [, version, text] = /^(\d{1,3})\.([\w-]*)$/.exec(value) ?? [];
  if (text === undefined) throw refuse("another form");
  if (Number(version) !== VERSION_OF_LINKS) throw refuse(`format ${version} instead of ${VERSION_OF_LINKS}; it is of another version of this page`);
  if (value.length > MAX_CHARACTERS) throw refuse(`${value.length} characters instead of at most ${MAX_CHARACTERS}`);
  const json = await inflated(text).catch(() => null);
  if (json === null) throw refuse("one that is cut off, changed, or unfolds to too much");
  let report: Report | null = null;
  try {
    report = readReport(unpacked(JSON.parse(json) as Packed));
  } catch {
    // Anything can stand in it.
  }
  if (!report) throw refuse("what is no report");
  return report;
}

/** Messages name tensors too. */
function withoutNames(report: Report): Report {
  const { model, tensors, diagnostics } = report;
  const names = new Map<string, string>();
  for (const { name, index } of tensors) if (name.length > 1) names.set(name, `tensor ${index}`);
  if (report.file.length > 1) names.set(report.file, "the file");
  // Longer ones first: a name may begin with another one.
  const listed = [...names].toSorted(([a], [b]) => b.length - a.length);
  const nameless = (message: string): string => (/[`"“]/.test(message) ? listed.reduce((text, [name, words]) => text.replaceAll(name, words), message) : message);
  return {
    ...report,
    file: "shared report",
    sha256: null,
    model: { ...model, description: "", signatures: model.signatures.map(() => ""), subgraphs: model.subgraphs.map((subgraph) => ({ ...subgraph, name: "" })) },
    tensors: tensors.map((tensor) => ({ ...tensor, name: "" })),
    diagnostics: diagnostics.map((diagnostic) => ({ ...diagnostic, message: nameless(diagnostic.message) })),
  };
}

function packed({ results, operators, tensors, edges: _, ...head }: Report, wanted: ReadonlySet<string>): Packed {
  const provenances = new Distinct();
  const parts: [number, number[]][] = [];
  const bare = results.map((result, i) => {
    const { operators: values, provenance, ...rest } = result;
    if (values && wanted.has(result.target)) parts.push([i, values.map((value) => shortest(value, result.unit ?? ""))]);
    return provenance ? { ...rest, provenance: provenances.indexOf(provenance) } : rest;
  });
  // The rooms of boards follow from the need.
  const fits = head.fits && { ...head.fits, boards: [] };
  const bare_tensors = tensors.map((tensor) => ({ ...tensor, bytes: tensor.bytes === null ? null : tensor.bytes - expectedBytes(tensor), quantization: tensor.quantization && { ...tensor.quantization, scale: [] } }));
  return { head: { ...head, fits }, provenances: provenances.values, results: bare, parts, operators: columnsOf(withDistances(operators, liveBytes(operators, tensors, head.model)), OPERATOR_FIELDS), tensors: columnsOf(bare_tensors, TENSOR_FIELDS) };
}

/** Reads the same wherever three digits are shown. Bytes are shown in other units, so that they stay whole. */
function shortest(value: number, unit: string): number {
  if (unit === "bytes") return Math.round(value);
  const four = value.toExponential(3);
  // A 5 at the end would be rounded again, to either side.
  return Number(/5e/.test(four) ? value.toPrecision(3) : four);
}

function unpacked({ head, provenances, results, parts, operators, tensors }: Packed): unknown {
  const whole = results.map((result): Result => {
    const { provenance, ...rest } = result as Record<string, unknown>;
    return { ...rest, ...(provenance === undefined ? {} : { provenance: provenances[provenance as number] }) } as unknown as Result;
  });
  for (const [i, values] of parts) {
    if (!Number.isInteger(i) || !Object.hasOwn(whole, i)) throw new Error("parts of no result");
    (whole[i] as { operators?: number[] }).operators = values;
  }
  const budget = { characters: MAX_REPEATED_CHARACTERS };
  const rows = rowsOf(operators, OPERATOR_FIELDS, budget) as unknown as Operator[];
  if (!(rows.reduce((n, { inputs, outputs }) => n + inputs.length + outputs.length, 0) <= MAX_OPERANDS)) throw new Error("more operands than a report of a link has");
  const all = withoutDistances(rows);
  const all_tensors = (rowsOf(tensors, TENSOR_FIELDS, budget) as Tensor[]).map((tensor) => ({ ...tensor, bytes: tensor.bytes === null ? null : tensor.bytes + expectedBytes(tensor) }));
  const live = liveBytes(all, all_tensors, head.model);
  const living = all.map((operator, i) => ({ ...operator, live_bytes: operator.live_bytes === null ? null : operator.live_bytes + live[i] }));
  return { ...head, results: whole, operators: living, tensors: all_tensors, edges: edgesOf(all) };
}

const BYTES_OF_TYPES: Readonly<Record<string, number>> = { FLOAT32: 4, FLOAT16: 2, INT64: 8, INT32: 4, INT16: 2, INT8: 1, UINT8: 1, BOOL: 1 };

/** Of the contents, which nearly every tensor has. */
function expectedBytes({ type, shape }: Tensor): number {
  return shape.reduce((product, size) => product * size, BYTES_OF_TYPES[type] ?? 0);
}

/** As the engine lists them: by the operator that reads, then by the one that writes. */
function edgesOf(operators: readonly Operator[]): Edge[] {
  const writers = new Map<number, number>();
  const edges: Edge[] = [];
  for (const { index, inputs, outputs } of operators) {
    const read = [...new Set(inputs)].flatMap((tensor): Edge[] => {
      const src = tensor === null ? undefined : writers.get(tensor);
      return src === undefined ? [] : [{ src, dst: index, tensor: tensor as number }];
    });
    edges.push(...read.sort((a, b) => a.src - b.src || a.tensor - b.tensor));
    for (const tensor of outputs) writers.set(tensor, index);
  }
  return edges;
}

/**
 * With indices that repeat with the blocks of a network: an input that is the first output of an operator as the negative
 * distance to it, any other tensor as the distance from the one before, without its sign.
 */
function withDistances(operators: readonly Operator[], live: readonly number[]): Operator[] {
  const writers = new Map<number, number>();
  let last = 0;
  const distance = (tensor: number): number => {
    const step = tensor - last;
    last = tensor;
    return step >= 0 ? 2 * step : -2 * step - 1;
  };
  return operators.map((operator) => {
    const { index } = operator;
    const inputs = operator.inputs.map((tensor) => (tensor === null ? null : writers.has(tensor) ? (writers.get(tensor) as number) - index : distance(tensor)));
    const outputs = operator.outputs.map(distance);
    if (operator.outputs.length > 0) writers.set(operator.outputs[0], index);
    return { ...operator, operator_idx: operator.operator_idx - index, inputs, outputs, live_bytes: operator.live_bytes === null ? null : operator.live_bytes - live[index] };
  });
}

/** Without the part of `live_bytes` that follows from the tensors. */
function withoutDistances(operators: readonly Operator[]): Operator[] {
  let last = 0;
  const tensorAt = (code: number): number => (last += code % 2 === 0 ? code / 2 : -(code + 1) / 2);
  const all: Operator[] = [];
  for (const operator of operators) {
    const inputs = operator.inputs.map((code) => (code === null ? null : code < 0 ? all[operator.index + code].outputs[0] : tensorAt(code)));
    all.push({ ...operator, operator_idx: operator.operator_idx + operator.index, inputs, outputs: operator.outputs.map(tensorAt) });
  }
  return all;
}

/** Bytes of activations from their writer to their last reader, by operator: what the engine counts in nearly every file. */
function liveBytes(operators: readonly Operator[], tensors: readonly Tensor[], { inputs, outputs }: Report["model"]): number[] {
  const ends = new Map<number, [first: number, last: number]>(inputs.map((tensor) => [tensor, [0, 0]]));
  for (const operator of operators) {
    for (const tensor of operator.outputs) ends.set(tensor, [operator.index, operator.index]);
    for (const tensor of operator.inputs) {
      const alive = tensor === null ? undefined : ends.get(tensor);
      if (alive) alive[1] = operator.index;
    }
  }
  for (const tensor of outputs) {
    const alive = ends.get(tensor);
    if (alive) alive[1] = operators.length - 1;
  }
  const changes = new Array<number>(operators.length + 1).fill(0);
  for (const [tensor, [first, last]] of ends) {
    changes[first] += tensors[tensor]?.bytes ?? 0;
    changes[last + 1] -= tensors[tensor]?.bytes ?? 0;
  }
  let n_bytes = 0;
  return operators.map((_, i) => (n_bytes += changes[i]));
}

/** Values by what they are in JSON. */
class Distinct {
  readonly values: unknown[] = [];
  readonly #indices = new Map<string, number>();

  indexOf(value: unknown): number {
    const text = JSON.stringify(value);
    const known = this.#indices.get(text);
    if (known !== undefined) return known;
    this.#indices.set(text, this.values.length);
    return this.values.push(value) - 1;
  }
}

function columnsOf<Row extends object>(rows: readonly Row[], fields: readonly (keyof Row & string)[]): Columns {
  return Object.fromEntries(
    fields.map((field) => {
      const distinct = new Distinct();
      const indices = rows.map((row) => distinct.indexOf(row[field] ?? null));
      return [field, distinct.values.length > rows.length / 2 ? rows.map((row) => row[field] ?? null) : { distinct: distinct.values, rows: indices }];
    }),
  );
}

function rowsOf(columns: Columns, fields: readonly string[], budget: { characters: number }): (Tensor | Operator)[] {
  const read = fields.map((field) => {
    const column = columns[field];
    if (Array.isArray(column)) return column;
    const lengths = column.distinct.map((value) => JSON.stringify(value).length);
    return column.rows.map((i) => {
      budget.characters -= lengths[i];
      if (!(budget.characters >= 0)) throw new Error("the columns repeat too much");
      return column.distinct[i];
    });
  });
  const n = read[0].length;
  if (n > MAX_OPERATORS * 4 || read.some((column) => column.length !== n)) throw new Error("columns of other lengths");
  return Array.from({ length: n }, (_, index) => Object.fromEntries([["index", index], ...fields.map((field, i) => [field, read[i][index]])]) as unknown as Tensor | Operator);
}

async function deflated(text: string): Promise<string> {
  const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Stops reading at the limit. */
async function inflated(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts: Uint8Array[] = [];
  let n_bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    n_bytes += value.length;
    if (n_bytes > MAX_UNPACKED_BYTES) {
      await reader.cancel();
      throw new Error("too much");
    }
    parts.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts as BlobPart[]).arrayBuffer());
}
