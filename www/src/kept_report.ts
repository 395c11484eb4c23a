/**
 * What this browser's database says is a report, checked before anything is made of it: another build wrote it, or somebody
 * changed it. Loaded when the first one is read.
 */
import schema from "../../src/report/report.schema.json";
import { type Report, type Result, isEstimate } from "./report.ts";

/** What the schema of reports uses of JSON Schema. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema;
}

const DEFINITIONS = schema.$defs as unknown as Record<string, Schema>;
const REPORT = DEFINITIONS["Report"]!;
/** Of an estimate, and of what there is instead of one. */
const [ESTIMATE, UNAVAILABLE] = DEFINITIONS["TargetResult"]!.anyOf!;
/** Objects whose fields the schema leaves open may hold objects this deep. */
const MAX_DEPTH = 16;

/** The parts of a report that a line of the history has. */
export type Summary = Pick<Report, "file" | "batch" | "model" | "results" | "what_if">;
const SUMMARY: Schema = { ...REPORT, required: ["file", "batch", "model", "results"] };

/** Fields that a later build added and that may be null are null in what an earlier one kept. */
export function isReport(value: unknown): value is Report {
  return conforms(value, REPORT) && isOneGraph(value as Report) && isSummaryOf(value as Report);
}

export function isSummary(value: unknown): value is Summary {
  return conforms(value, SUMMARY) && isSummaryOf(value as Summary);
}

function isSummaryOf({ results, what_if }: Summary): boolean {
  return results.every(isResult) && (what_if === undefined || isScenario(what_if));
}

/** The schema takes a result for one of both, whatever it has of the other. */
function isResult(result: Result): boolean {
  return conforms(result, isEstimate(result) ? ESTIMATE! : UNAVAILABLE!);
}

/** Indices are of what the report has, and operators are in topological order. */
function isOneGraph({ operators, tensors, edges, results, left_out = [], model }: Report): boolean {
  const isOperator = (idx: number | null): boolean => idx === null || idx < operators.length;
  const isTensor = (idx: number | null): boolean => idx === null || idx < tensors.length;
  return (
    operators.every(({ index, inputs, outputs }, idx) => index === idx && inputs.every(isTensor) && outputs.every(isTensor)) &&
    tensors.every(({ index }, idx) => index === idx) &&
    edges.every(({ src, dst, tensor }) => src < dst && isOperator(dst) && isTensor(tensor)) &&
    results.every((result) => !isEstimate(result) || !result.operators || result.operators.length === operators.length) &&
    left_out.every((left) => left.operators.every(({ operator }) => isOperator(operator))) &&
    isOperator(model.peak_operator) &&
    [...model.inputs, ...model.outputs].every(isTensor)
  );
}

function isScenario(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { batch, threads, resolution, width, channels = null, int8, low_memory_order, dimensions = {} } = value;
  const isPositive = (number: unknown): boolean => Number.isFinite(number) && (number as number) > 0;
  return (
    [batch, threads, resolution, width].every((number) => number === undefined || isPositive(number)) &&
    (channels === null || (isObject(channels) && isPositive(channels["from"]) && isPositive(channels["to"]))) &&
    [int8, low_memory_order].every((flag) => flag === undefined || typeof flag === "boolean") &&
    isObject(dimensions) &&
    Object.values(dimensions).every(isPositive)
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** Names that the schema lists may be others: those of another build. */
function conforms(value: unknown, schema: Schema): boolean {
  if (schema.$ref !== undefined) return conforms(value, DEFINITIONS[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)]!);
  const either = schema.anyOf ?? schema.oneOf;
  if (either && !(either.every(({ type }) => type === "string") ? typeof value === "string" : either.some((one) => conforms(value, one)))) return false;
  if ("const" in schema && value !== schema.const) return false;
  if (schema.type !== undefined && ![schema.type].flat().some((type) => hasType(value, type))) return false;
  if (typeof value === "number") return value >= (schema.minimum ?? -Infinity);
  if (Array.isArray(value)) return schema.items === undefined || value.every((item) => conforms(item, schema.items!));
  return !isObject(value) || hasFields(value, schema);
}

function hasFields(value: Record<string, unknown>, { properties = {}, required = [], additionalProperties }: Schema): boolean {
  for (const name of required) if (value[name] === undefined && properties[name] && conforms(null, properties[name])) value[name] = null;
  if (!required.every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, field]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema) return field === undefined ? !required.includes(name) : conforms(field, schema);
    if (additionalProperties === true) return isPlain(field, MAX_DEPTH);
    return typeof additionalProperties !== "object" || conforms(field, additionalProperties);
  });
}

/** As JSON has it. */
function isPlain(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth - 1));
  return isObject(value) && Object.values(value).every((field) => isPlain(field, depth - 1));
}

function hasType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "number" || type === "integer") return Number.isFinite(value) && (type === "number" || Number.isInteger(value));
  return typeof value === type;
}
