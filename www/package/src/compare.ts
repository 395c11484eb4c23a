/** Two reports → what differs, metric by metric. */
import type { Change, Comparison, Estimate, FactName, Report, Result, ResultChange } from "../types/index.d.ts";
import { plainObject, text } from "./arguments.ts";
import { inWords, reading, wrongArgument } from "./errors.ts";
import { migrated } from "./migrate.ts";

const FACTS: [FactName, string][] = [
  ["file_bytes", "bytes"],
  ["macs", "operations"],
  ["parameters", "elements"],
  ["weight_bytes", "bytes"],
  ["arena_bytes", "bytes"],
  ["activation_bytes", "bytes"],
  ["n_operators", "operators"],
];

/** Of reports of this version or an older one. */
export const compareReports = (before: Report, after: Report): Comparison => reading("before and after", () => compared(before, after));

function compared(old_report: Report, new_report: Report): Comparison {
  const before = checkedReport(old_report, "before");
  const after = checkedReport(new_report, "after");
  const facts = FACTS.map(([fact, unit]) => ({ fact, unit, ...change(before.model[fact], after.model[fact]) }));
  const resultsByKey = (report: Report): Map<string, Result> => new Map(report.results.map((result) => [`${result.target} ${result.metric}`, result]));
  const [old, now] = [resultsByKey(before), resultsByKey(after)];
  const results = [...new Set([...old.keys(), ...now.keys()])].map((key) => {
    const [a, b] = [old.get(key), now.get(key)];
    const { target, metric, device } = (a ?? b)!;
    const estimate = [a, b].find((result): result is Estimate => result?.value !== undefined);
    return {
      ...{ target, metric, device, unit: estimate?.unit ?? null, ...change(valueOf(a), valueOf(b)), is_within_intervals: overlap(a, b) },
      ...(a?.unavailable === undefined ? {} : { unavailable_before: a.unavailable }),
      ...(b?.unavailable === undefined ? {} : { unavailable_after: b.unavailable }),
      ...(a?.evidence === undefined ? {} : { evidence_before: a.evidence }),
      ...(b?.evidence === undefined ? {} : { evidence_after: b.evidence }),
      ...(a?.estimated_as === undefined ? {} : { estimated_as_before: a.estimated_as }),
      ...(b?.estimated_as === undefined ? {} : { estimated_as_after: b.estimated_as }),
      ...otherSettings(a, b),
    };
  });
  return { before: before.file, after: after.file, facts, results };
}

const checkedReport = (report: Report, place: string): Report => reading(place, () => readReport(report, place));

function readReport(report: Report, place: string): Report {
  const given = plainObject(report, place);
  if (!Array.isArray(given["results"]) || typeof given["model"] !== "object") throw wrongArgument(`${place}: expected a report of estimate() or analyze()`);
  plainObject(given["model"], `${place}.model`);
  for (const [idx, result] of given["results"].entries()) {
    const at = `${place}.results[${idx}]`;
    const { target, metric, value, lo, hi } = plainObject(result, at);
    text(target, `${at}.target`);
    text(metric, `${at}.metric`);
    for (const [name, number] of Object.entries({ value, lo, hi })) if (number !== undefined) finite(number, `${at}.${name}`);
  }
  const read = migrated(report);
  if (!read) throw wrongArgument(`${place}.schema_version: expected 1 or 2, found ${inWords(given["schema_version"])}`);
  for (const [fact] of FACTS) if (read.model[fact] !== null) finite(read.model[fact], `${place}.model.${fact}`);
  return read;
}

function finite(value: unknown, place: string): void {
  if (!Number.isFinite(value)) throw wrongArgument(`${place}: expected a number, found ${inWords(value)}`);
}

function valueOf(result: Result | undefined): number | null {
  return result?.value ?? null;
}

function change(before: number | null, after: number | null): Change {
  const is_known = before !== null && after !== null;
  return {
    before,
    after,
    difference: is_known ? after - before : null,
    change_percent: is_known && before !== 0 ? (100 * (after - before)) / before : is_known && after === 0 ? 0 : null,
  };
}

/** Those of each side with an estimate, where they differ. */
function otherSettings(a: Result | undefined, b: Result | undefined): Pick<ResultChange, "settings_before" | "settings_after"> {
  if (a?.value === undefined || b?.value === undefined) return {};
  const inOrder = ({ settings }: Result): string => JSON.stringify(Object.entries(settings ?? {}).sort(([one], [other]) => (one < other ? -1 : 1)));
  if (inOrder(a) === inOrder(b)) return {};
  return { ...(a.settings && { settings_before: a.settings }), ...(b.settings && { settings_after: b.settings }) };
}

/** Whether two intervals share a point, so that the order of the two values is not sure; null where one has none. */
function overlap(a: Result | undefined, b: Result | undefined): boolean | null {
  if (a?.lo === undefined || a.hi === undefined || b?.lo === undefined || b.hi === undefined) return null;
  return a.lo <= b.hi && b.lo <= a.hi;
}
