/**
 * What this browser's database says is a report, checked before anything is made of it: another build wrote it, or somebody
 * changed it. Loaded when the first one is read.
 */
import schema from "../../src/report/report.schema.json";
import { migrated } from "../package/src/migrate.ts";
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
/** Objects whose fields the schema leaves open may hold objects this deep. */
const MAX_DEPTH = 16;

/** The parts of a report that a line of the history has. */
export type Summary = Pick<Report, "schema_version" | "file" | "batch" | "model" | "results" | "what_if">;
const SUMMARY: Schema = { ...REPORT, required: ["file", "batch", "model", "results"] };

type Check = (value: unknown) => boolean;
const checks = new Map<string, Check>();
const isShapedAsReport = checkOf(REPORT);
const isShapedAsSummary = checkOf(SUMMARY);
/** Of an estimate, and of what there is instead of one. */
const [isShapedAsEstimate, isShapedAsReason] = DEFINITIONS["TargetResult"]!.anyOf!.map(checkOf) as [Check, Check];

/** In this version; null for what is no report. Fields that a later build added and that may be null are null in what an earlier one kept. */
export function readReport(kept: unknown): Report | null {
  const report = inThisVersion(kept);
  return isShapedAsReport(report) && isOneGraph(report as Report) && isSummaryOf(report as Report) ? (report as Report) : null;
}

/** What was kept as a comparison's part of a report; null where it is none. */
export function readSummary(kept: unknown): Summary | null {
  const summary = inThisVersion(kept);
  return isShapedAsSummary(summary) && isSummaryOf(summary as Summary) ? (summary as Summary) : null;
}

/** What is no report can stop the migration anywhere. */
function inThisVersion(kept: unknown): unknown {
  try {
    return migrated(kept as Report);
  } catch {
    return null;
  }
}

function isSummaryOf({ results, what_if }: Summary): boolean {
  return results.every(isResult) && (what_if === undefined || isScenario(what_if));
}

/** The schema takes a result for one of both, whatever it has of the other. */
function isResult(result: Result): boolean {
  return isEstimate(result) ? isShapedAsEstimate(result) : isShapedAsReason(result);
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Of a schema, made once: a report has a hundred thousand values. Names that the schema lists may be others, of another build. */
function checkOf({ $ref, anyOf, oneOf, type, minimum = -Infinity, items, ...schema }: Schema): Check {
  if ($ref !== undefined) return checkOfName($ref.slice($ref.lastIndexOf("/") + 1));
  const either = (anyOf ?? oneOf ?? []) as Schema[];
  const isOne = either.every((one) => one.type === "string") ? (value: unknown) => typeof value === "string" : anyOfChecks(either.map(checkOf));
  const types = type === undefined ? null : [type].flat();
  const isItem = items ? checkOf(items) : null;
  const hasFields = fieldsOf(schema);
  return (value) => {
    if (either.length > 0 && !isOne(value)) return false;
    if (types && !types.some((type) => hasType(value, type))) return false;
    if (schema.const !== undefined && value !== schema.const) return false;
    if (typeof value === "number") return value >= minimum;
    if (Array.isArray(value)) return isItem === null || value.every(isItem);
    return !isObject(value) || hasFields(value);
  };
}

/** Definitions may hold one another. */
function checkOfName(name: string): Check {
  return (value) => {
    let check = checks.get(name);
    if (!check) checks.set(name, (check = checkOf(DEFINITIONS[name]!)));
    return check(value);
  };
}

function anyOfChecks(checks: readonly Check[]): Check {
  return (value) => checks.some((check) => check(value));
}

/** Of an object's fields. Those that are missing and may be null become that. */
function fieldsOf({ properties = {}, required = [], additionalProperties }: Schema): (value: Record<string, unknown>) => boolean {
  const fields = new Map(Object.entries(properties).map(([name, field]) => [name, checkOf(field)]));
  const needed = new Set(required);
  const isOther = typeof additionalProperties === "object" ? checkOf(additionalProperties) : (value: unknown) => additionalProperties !== true || isPlain(value, MAX_DEPTH);
  return (value) => {
    for (const name of needed) {
      if (value[name] !== undefined) continue;
      if (!fields.get(name)?.(null)) return false;
      value[name] = null;
    }
    for (const name of Object.keys(value)) {
      const field = value[name];
      if (field === undefined) continue; // none that is needed
      if (!(fields.get(name) ?? isOther)(field)) return false;
    }
    return true;
  };
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
  if (type === "number") return Number.isFinite(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
