/** Files beside each other. */
import type { Report } from "./report.ts";

/** What a comparison knows of a file. */
export type Summary = Pick<Report, "file" | "batch" | "model" | "results" | "left_out" | "litecast_version">;

/** One file of a comparison: estimated, failed, or not read yet. */
export type ComparedFile = { file: string } & ({ key: string; summary: Summary } | { failure: string; dimensions?: readonly string[] } | { waiting: true });
/** A row that has a report. */
export type Estimated = Extract<ComparedFile, { summary: Summary }>;

/** Names of the dimensions whose sizes files of a comparison still need. */
export function missingSizes(rows: readonly ComparedFile[]): string[] {
  return [...new Set(rows.flatMap((row) => ("failure" in row ? (row.dimensions ?? []) : [])))];
}
