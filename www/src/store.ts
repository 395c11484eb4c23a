/**
 * What the page remembers in this browser: reports and comparisons, and files where a person wants that. Every function
 * answers as if nothing were kept where the browser keeps nothing, for example in a private window.
 */
import { type ListPart, addPart, withoutLongLists } from "./list_parts.ts";
import { KnownError, otherBuildError } from "./worker_messenger.ts";
import type { Report } from "./report.ts";

const NAME = "litecast";
const VERSION_OF_STORES = 2;
/** Kept reports hold at most this many operators together, some 100 MB; the oldest go first. */
const MAX_KEPT_OPERATORS = 200_000;
const MAX_KEPT_REPORTS = 200;
const MAX_KEPT_COMPARISONS = 50;

/** Names of what the page keeps in this browser beside its database. */
export const SETTING = /^litecast\.[\w.-]{1,60}$/;

/** One line of the history. */
export interface Opened {
  key: string;
  file: string;
  batch: number;
  opened_ms: number;
  n_operators: number;
  /** Estimates by another build may differ. */
  estimates_id: string;
  /** Without the parts of each operator. */
  summary: Pick<Report, "schema_version" | "file" | "batch" | "model" | "results" | "what_if">;
}

/** One file of a kept comparison: the key of its report, why it has none, or neither yet. */
export type ComparisonRow = { file: string } & ({ key: string } | { failure: string } | { waiting: true });

/** A comparison as it is kept. */
export interface Comparison {
  key: string;
  opened_ms: number;
  batch: number;
  rows: ComparisonRow[];
}

/** A key that no report has. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

let database: Promise<IDBDatabase | null> | null = null;

function open(): Promise<IDBDatabase | null> {
  database ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(NAME, VERSION_OF_STORES);
      request.onupgradeneeded = () => {
        const { result } = request;
        const has = (name: StoreName): boolean => result.objectStoreNames.contains(name);
        for (const name of ["opened", "comparisons"] as const) if (!has(name)) result.createObjectStore(name, { keyPath: "key" }).createIndex("opened_ms", "opened_ms");
        for (const name of ["reports", "files"] as const) if (!has(name)) result.createObjectStore(name);
      };
      request.onsuccess = () => {
        // Another tab may have a later build, which waits until nothing holds the database of this one.
        request.result.onversionchange = () => request.result.close();
        resolve(request.result);
      };
      request.onerror = request.onblocked = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
  return database;
}

type StoreName = "opened" | "reports" | "comparisons" | "files";

/** The result of the last request that `use` makes, once it is durable; null where it failed. */
export async function transact<Value>(
  names: StoreName[],
  mode: IDBTransactionMode,
  use: (stores: Record<StoreName, IDBObjectStore>) => IDBRequest<Value> | void,
): Promise<Value | null> {
  const opened = await open();
  if (!opened) return null;
  return new Promise((resolve) => {
    try {
      const transaction = opened.transaction(names, mode);
      const stores = Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)]));
      const request = use(stores as Record<StoreName, IDBObjectStore>);
      transaction.oncomplete = () => resolve(request ? (request.result ?? null) : null);
      transaction.onerror = transaction.onabort = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

/** Keeps a report; the oldest ones make room. */
export async function keepReport(key: string, report: Report): Promise<void> {
  const { schema_version, file, batch, model, results, what_if } = report;
  const bare = results.map((result) => {
    const { operators: _, ...rest } = result as typeof result & { operators?: number[] };
    return rest;
  });
  const opened: Opened = {
    key,
    file,
    batch,
    opened_ms: Date.now(),
    n_operators: report.operators.length,
    estimates_id: ESTIMATES_ID,
    summary: { schema_version, file, batch, model, results: bare, ...(what_if ? { what_if } : {}) },
  };
  if (report.operators.length > MAX_KEPT_OPERATORS) await transact(["opened"], "readwrite", (stores) => void stores.opened.put(opened));
  else await putReport(key, report, opened);
  if (n_kept++ % KEPT_BETWEEN === 0) await forgetOldest();
}

/** A report whose long lists are kept apart: no transaction holds more than one part of them. An older build takes it for damaged. */
interface Parted {
  n_parts: number;
  report: unknown;
}

/** The line of the history comes first: it leads to parts whose report was never written. */
export async function putReport(key: string, report: Report, opened: Opened | null): Promise<void> {
  const parts: ListPart[] = [];
  const bare = withoutLongLists(report, (part) => parts.push(part));
  const kept = parts.length === 0 ? report : ({ n_parts: parts.length, report: bare } satisfies Parted);
  if (opened && parts.length > 0) await transact(["opened"], "readwrite", (stores) => void stores.opened.put(opened));
  for (const [idx, part] of parts.entries()) await transact(["reports"], "readwrite", ({ reports }) => void reports.put(part, partKey(key, idx)));
  await transact(["opened", "reports"], "readwrite", (stores) => {
    if (opened) stores.opened.put(opened);
    stores.reports.put(kept, key);
  });
}

/** What is kept under the key of a report with all its parts, unchecked; null where there is none. */
export async function takeWhole(key: string): Promise<unknown> {
  const kept = await transact<unknown>(["reports"], "readonly", ({ reports }) => reports.get(key));
  const { n_parts, report } = (kept ?? {}) as Partial<Parted>;
  if (typeof n_parts !== "number") return kept;
  for (let idx = 0; idx < n_parts; idx += 1) {
    // Each in a task of its own.
    const part = await transact<ListPart>(["reports"], "readonly", ({ reports }) => reports.get(partKey(key, idx)));
    if (!isPart(part) || !addPart(report, part)) return {};
  }
  return report;
}

const PART_SIGN = "/part-";
const partKey = (key: string, idx: number): string => `${key}${PART_SIGN}${idx}`;
/** Whether a key is that of a part of a report. */
export const isPartKey = (key: string): boolean => key.includes(PART_SIGN);
const partsOf = (key: string): IDBKeyRange => IDBKeyRange.bound(`${key}${PART_SIGN}`, `${key}${PART_SIGN}\uffff`);

function isPart(value: unknown): value is ListPart {
  const { path, items } = (value ?? {}) as Partial<ListPart>;
  return Array.isArray(path) && path.every((name) => typeof name === "string") && Array.isArray(items);
}

/** Reports that are kept between two looks for what is too much, which reads every line of the history. */
const KEPT_BETWEEN = 16;
let n_kept = 0;

async function forgetOldest(): Promise<void> {
  let operators = 0;
  const surplus = (await allOpened()).reverse().filter(({ n_operators }, i) => {
    operators += Number(n_operators) || 0;
    return i > 0 && (i >= MAX_KEPT_REPORTS || operators > MAX_KEPT_OPERATORS);
  });
  for (const { key } of surplus) await forgetReport(key);
}

/** Checks what is read back: code that only this needs. */
const checks = (): Promise<typeof import("./report_check.ts")> => import("./report_check.ts").catch(() => Promise.reject(otherBuildError()));

/** Null where there is none; an error of the kind `damaged` where what is kept is no report. */
export async function keptReport(key: string): Promise<Report | null> {
  const kept = await takeWhole(key);
  if (kept === null) return null;
  const { readReport } = await checks();
  const report = readReport(kept);
  if (report) return report;
  throw new KnownError("damaged", "what this browser kept of it is no report of this page; open the file again");
}

/** Between pauses in which the page answers. */
const CHECKED_AT_ONCE_MS = 8;

/** Unchecked. */
async function allOpened(): Promise<Opened[]> {
  return (await transact<Opened[]>(["opened"], "readonly", ({ opened }) => opened.index("opened_ms").getAll())) ?? [];
}

/** What was opened, the last one first, as far as it can be read. */
export async function reportHistory(): Promise<Opened[]> {
  const all = await allOpened();
  if (all.length === 0) return [];
  const { readSummary } = await checks().catch(() => ({ readSummary: () => null }));
  const readable: Opened[] = [];
  let pause_ms = performance.now() + CHECKED_AT_ONCE_MS;
  for (const opened of all.reverse()) {
    const is_line = typeof opened.key === "string" && isDate(opened.opened_ms) && Number.isFinite(opened.n_operators);
    const summary = is_line ? readSummary(opened.summary) : null;
    if (summary) readable.push({ ...opened, summary });
    if (performance.now() < pause_ms) continue;
    await new Promise((resolve) => setTimeout(resolve));
    pause_ms = performance.now() + CHECKED_AT_ONCE_MS;
  }
  return readable;
}

/** Whether a number is a time in milliseconds. */
export function isDate(ms: unknown): boolean {
  return typeof ms === "number" && !Number.isNaN(new Date(ms).getTime());
}

/** Keeps a comparison; the oldest ones make room. */
export async function keepComparison(comparison: Comparison): Promise<void> {
  await transact(["comparisons"], "readwrite", ({ comparisons }) => {
    comparisons.put(comparison);
    const keys = comparisons.index("opened_ms").getAllKeys();
    keys.onsuccess = () => keys.result.slice(0, -MAX_KEPT_COMPARISONS).forEach((oldest) => comparisons.delete(oldest));
  });
}

/** The last one first. */
export async function comparisonHistory(): Promise<Comparison[]> {
  const all = await transact<unknown[]>(["comparisons"], "readonly", ({ comparisons }) => comparisons.index("opened_ms").getAll());
  return (all ?? []).filter(isComparison).reverse();
}

/** Whether an object is a comparison as it is kept. */
export function isComparison(value: unknown): value is Comparison {
  const { key, opened_ms, batch, rows } = value as Partial<Comparison>;
  return typeof key === "string" && isDate(opened_ms) && Number.isInteger(batch) && Array.isArray(rows) && rows.every(isRow);
}

function isRow(value: unknown): value is ComparisonRow {
  if (typeof value !== "object" || value === null) return false;
  const { file, key, failure, waiting } = value as { file?: unknown; key?: unknown; failure?: unknown; waiting?: unknown };
  return typeof file === "string" && (typeof key === "string" || typeof failure === "string" || waiting === true);
}

/** Deletes a comparison; its reports stay. */
export async function forgetComparison(key: string): Promise<void> {
  await transact(["comparisons"], "readwrite", ({ comparisons }) => comparisons.delete(key));
}

/** A kept comparison; null where there is none under this key. */
export async function keptComparison(key: string): Promise<Comparison | null> {
  const kept = await transact<unknown>(["comparisons"], "readonly", ({ comparisons }) => comparisons.get(key));
  if (kept === null || isComparison(kept)) return kept;
  throw new KnownError("damaged", "what this browser kept of it is no comparison of this page; open the files again");
}

/** Deletes a report and its file. */
export async function forgetReport(key: string): Promise<void> {
  await transact(["opened", "reports", "files"], "readwrite", (stores) => {
    stores.opened.delete(key);
    stores.reports.delete(key);
    stores.reports.delete(partsOf(key));
    stores.files.delete(key);
  });
}

/** Deletes everything that was kept. */
export async function forgetAll(): Promise<void> {
  await transact(["opened", "reports", "comparisons", "files"], "readwrite", (stores) => {
    for (const store of Object.values(stores)) store.clear();
  });
}
