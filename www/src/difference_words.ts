/** Where a difference between two models comes from, in one sentence. */
import { type Measure, costText } from "./costs.ts";
import { operatorsLeftBy } from "./processor_split.ts";
import type { Match } from "./operator_matching.ts";
import type { Report } from "./report.ts";

/** Groups that are named; each explains at least so much of the difference. */
const MAX_GROUPS = 2;
const MIN_PART = 0.1;

interface Group {
  name: string;
  is_on_cpu: boolean;
  n: number;
  /** Of all its operators: less where they take less. */
  change: number;
  is_new: boolean;
  is_gone: boolean;
}

/** `+2.2 ms, of which 1.9 ms in 3 RESIZE_BILINEAR that run on the CPU`; null where nothing differs, or costs do not add up. */
export function differenceWords(left: Report, right: Report, matches: readonly Match[], measures: { left: Measure; right: Measure }): string | null {
  if (!measures.left.is_sum) return null;
  const total = measures.right.total - measures.left.total;
  if (total === 0 || !Number.isFinite(total)) return null;
  const amount = (value: number): string => costText({ ...measures.left, total: 0 }, Math.abs(value));
  const groups = groupsOf(left, right, matches, measures)
    .filter(({ change }) => Math.sign(change) === Math.sign(total) && Math.abs(change) >= MIN_PART * Math.abs(total))
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change))
    .slice(0, MAX_GROUPS);
  const words = groups.map((group) => `${amount(group.change)} in ${group.n.toLocaleString("en")} ${group.name}${stateWords(group)}`);
  const against = groups.some(({ change }) => Math.abs(change) > Math.abs(total)) ? "; other operators take part of it back" : "";
  return `${total > 0 ? "+" : "\u2212"}${amount(total)}${words.length > 0 ? `, of which ${words.join(" and ")}${against}` : ", spread over many operators"}`;
}

function stateWords({ is_on_cpu, is_new, is_gone, n }: Group): string {
  const verb = n === 1 ? "runs" : "run";
  const parts = [is_on_cpu ? `${verb} on the CPU` : "", is_new ? (n === 1 ? "is new" : "are new") : "", is_gone ? (n === 1 ? "is gone" : "are gone") : ""].filter(Boolean);
  return parts.length > 0 ? ` that ${parts.join(" and ")}` : "";
}

function groupsOf(left: Report, right: Report, matches: readonly Match[], measures: { left: Measure; right: Measure }): Group[] {
  const target = measures.left.target ?? "";
  const [on_cpu_before, on_cpu_after] = [operatorsLeftBy(left, target), operatorsLeftBy(right, target)];
  const groups = new Map<string, Group>();
  for (const { left: i, right: j } of matches) {
    const operator = j !== null ? right.operators[j] : left.operators[i ?? 0];
    const change = (j === null ? 0 : measures.right.values[j]) - (i === null ? 0 : measures.left.values[i]);
    if (change === 0) continue;
    const is_on_cpu = j !== null ? on_cpu_after.has(j) : on_cpu_before.has(i ?? -1);
    const group = { name: operator.name, is_on_cpu, is_new: i === null, is_gone: j === null };
    const key = JSON.stringify(group);
    const known = groups.get(key) ?? { ...group, n: 0, change: 0 };
    groups.set(key, { ...known, n: known.n + 1, change: known.change + change });
  }
  return [...groups.values()];
}
