/**
 * What the page remembers in this browser: reports and comparisons, and files where a person wants that. Every function
 * answers as if nothing were kept where the browser keeps nothing, for example in a private window.
 */
import type { Report } from "./report.ts";

const NAME = "litecast";
const VERSION_OF_STORES = 2;
/** Kept reports hold at most this many operators together, some 100 MB; the oldest go first. */
const MAX_KEPT_OPERATORS = 200_000;
const MAX_KEPT_REPORTS = 200;
const MAX_KEPT_COMPARISONS = 50;

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
  summary: Pick<Report, "file" | "batch" | "model" | "results" | "what_if">;
}

export type ComparisonRow = { file: string } & ({ key: string } | { failure: string } | { waiting: true });

export interface Comparison {
  key: string;
  opened_ms: number;
  batch: number;
  rows: ComparisonRow[];
}

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
      request.onsuccess = () => resolve(request.result);
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

export async function keepReport(key: string, report: Report): Promise<void> {
  const { file, batch, model, results, what_if } = report;
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
    summary: { file, batch, model, results: bare, ...(what_if ? { what_if } : {}) },
  };
  await transact(["opened", "reports"], "readwrite", (stores) => {
    stores.opened.put(opened);
    if (report.operators.length <= MAX_KEPT_OPERATORS) stores.reports.put(report, key);
  });
  await forgetOldest();
}

async function forgetOldest(): Promise<void> {
  let operators = 0;
  const surplus = (await history()).filter(({ n_operators }, i) => {
    operators += n_operators;
    return i > 0 && (i >= MAX_KEPT_REPORTS || operators > MAX_KEPT_OPERATORS);
  });
  for (const { key } of surplus) await forget(key);
}

export function keptReport(key: string): Promise<Report | null> {
  return transact<Report>(["reports"], "readonly", ({ reports }) => reports.get(key));
}

/** What was opened, the last one first. */
export async function history(): Promise<Opened[]> {
  const all = await transact<Opened[]>(["opened"], "readonly", ({ opened }) => opened.index("opened_ms").getAll());
  return (all ?? []).reverse();
}

export async function keepComparison(comparison: Comparison): Promise<void> {
  await transact(["comparisons"], "readwrite", ({ comparisons }) => {
    comparisons.put(comparison);
    const keys = comparisons.index("opened_ms").getAllKeys();
    keys.onsuccess = () => keys.result.slice(0, -MAX_KEPT_COMPARISONS).forEach((oldest) => comparisons.delete(oldest));
  });
}

/** The last one first. */
export async function comparisonHistory(): Promise<Comparison[]> {
  const all = await transact<Comparison[]>(["comparisons"], "readonly", ({ comparisons }) => comparisons.index("opened_ms").getAll());
  return (all ?? []).reverse();
}

export async function forgetComparison(key: string): Promise<void> {
  await transact(["comparisons"], "readwrite", ({ comparisons }) => comparisons.delete(key));
}

export function keptComparison(key: string): Promise<Comparison | null> {
  return transact<Comparison>(["comparisons"], "readonly", ({ comparisons }) => comparisons.get(key));
}

export async function forget(key: string): Promise<void> {
  await transact(["opened", "reports", "files"], "readwrite", (stores) => {
    stores.opened.delete(key);
    stores.reports.delete(key);
    stores.files.delete(key);
  });
}

export async function forgetAll(): Promise<void> {
  await transact(["opened", "reports", "comparisons", "files"], "readwrite", (stores) => {
    for (const store of Object.values(stores)) store.clear();
  });
}
