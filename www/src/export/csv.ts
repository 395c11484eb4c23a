/** Tables for spreadsheets: RFC 4180, values in the units that their columns name. */
import { estimatesAndProfiles } from "../costs.ts";
import { KIND_NAMES, kindOf } from "../kinds.ts";
import { type CustomColumn, columnValueOf } from "../custom_column.ts";
import { type Report, isEstimate } from "../report.ts";
import type { Summary } from "../comparison_rows.ts";
import { referenceName } from "../words.ts";

type Field = string | number | null | undefined;

/** Rows as RFC 4180 writes them, with formulas of spreadsheets made plain text. */
export function csv(rows: Field[][]): string {
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** A text that a spreadsheet would run as a formula is led by an apostrophe: names come from files of strangers. */
function field(value: Field): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A row for each file, target and metric, and one for each file that has no report, as the command writes them. A column of
 * one's own is the last one.
 */
export function comparisonCsv(summaries: readonly Summary[], failures: readonly { file: string; failure: string }[], column: CustomColumn | null): string {
  const head = ["file", "batch", "precision", "operators", "macs", "file_bytes", "target", "device", "metric", "value", "lo", "hi", "unit", "expected_error_percent", "provenance", "tool", "version", "estimated_as", "evidence", "interval_percent", "error_against", "scope", "unavailable", "reason", "error"];
  const rows = summaries.flatMap(({ file, batch, model, results }) =>
    results.map((result): Field[] => {
      const facts: Field[] = [file, batch, model.precision, model.n_operators, model.macs, model.file_bytes, result.target, result.device, result.metric];
      if (!isEstimate(result)) return [...facts, ...new Array<null>(13).fill(null), result.unavailable, result.reason, null];
      const { value, lo, hi, unit, expected_error_percent, provenance, estimated_as, evidence } = result;
      const against = typeof expected_error_percent === "number" ? referenceName(provenance) : null;
      return [...facts, value, lo, hi, unit, expected_error_percent, provenance.kind, provenance.tool, provenance.version, estimated_as, evidence, provenance.interval_percent, against, provenance.scope, null, null, null];
    }),
  );
  const columnCells = (file: string): Field[] => (column ? [columnValueOf(column, file)] : []);
  const failed = failures.map(({ file, failure }): Field[] => [file, ...new Array<null>(head.length - 2).fill(null), failure]);
  const all = [...rows, ...failed].map((row) => [...row, ...columnCells(String(row[0]))]);
  return csv([[...head, ...(column ? [column.name] : [])], ...all]);
}

/** A row for each operator, with its part of every estimate that has parts. */
export function operatorsCsv(report: Report): string {
  const measures = estimatesAndProfiles(report);
  const facts = ["index", "operator_idx", "operator", "kind", "output_tensor", "output_shape", "macs", "parameters", "weight_bytes", "input_bytes", "output_bytes", "live_bytes"];
  const head = [...facts, ...measures.map(({ target, metric, unit }) => `${target} ${metric} ${unit}`)];
  const rows = report.operators.map((operator): Field[] => {
    const output = report.tensors[operator.outputs[0] ?? -1];
    return [
      operator.index,
      operator.operator_idx,
      operator.name,
      KIND_NAMES[kindOf(operator)],
      output?.name,
      output?.shape.join("x"),
      operator.macs,
      operator.parameters,
      operator.weight_bytes,
      operator.input_bytes,
      operator.output_bytes,
      operator.live_bytes,
      ...measures.map(({ values }) => values[operator.index]),
    ];
  });
  return csv([head, ...rows]);
}
