/** Everything that the page keeps in this browser as one file, and back. Loaded when a person asks for it. */
import { KnownError } from "./worker_messenger.ts";
import type { Report } from "./report.ts";
import { readReport, readSummary } from "./report_check.ts";
import { type Comparison, type Opened, isComparison, isDate, transact } from "./store.ts";

const VERSION_OF_BACKUPS = 1;
/** As many reports, comparisons and files as a browser keeps have less. */
const MAX_BYTES = 1024 ** 3;
const SETTING = /^litecast\.[\w.-]{1,60}$/;
const MAX_SETTING_CHARACTERS = 1_000_000;

/** As JSON. */
interface Backup {
  litecast_backup: number;
  settings: Record<string, string>;
  opened: Opened[];
  reports: [key: string, report: Report][];
  comparisons: Comparison[];
  /** Contents in base64. */
  files: [key: string, name: string, contents: string][];
}

/** How much a backup brought. */
export interface Imported {
  n_reports: number;
  n_comparisons: number;
  n_settings: number;
  /** Entries that could not be read. */
  n_refused: number;
}

/** Settings, reports, comparisons, and files where they are kept. */
export async function exportAll(): Promise<Blob> {
  const entriesOf = async <Value>(name: "reports" | "files"): Promise<[string, Value][]> => {
    const keys = (await transact<IDBValidKey[]>([name], "readonly", (stores) => stores[name].getAllKeys())) ?? [];
    // One by one: another tab may write meanwhile.
    const entries = await Promise.all(keys.map(async (key) => [String(key), await transact<Value>([name], "readonly", (stores) => stores[name].get(key))] as const));
    return entries.flatMap(([key, value]): [string, Value][] => (value === null ? [] : [[key, value]]));
  };
  const backup: Backup = {
    litecast_backup: VERSION_OF_BACKUPS,
    settings: Object.fromEntries(Object.entries(localStorage).filter(([key]) => SETTING.test(key))),
    opened: (await transact<Opened[]>(["opened"], "readonly", ({ opened }) => opened.getAll())) ?? [],
    reports: await entriesOf<Report>("reports"),
    comparisons: (await transact<Comparison[]>(["comparisons"], "readonly", ({ comparisons }) => comparisons.getAll())) ?? [],
    files: await Promise.all((await entriesOf<File>("files")).map(async ([key, file]): Promise<[string, string, string]> => [key, file.name, await base64Of(file)])),
  };
  return new Blob([JSON.stringify(backup)], { type: "application/json" });
}

/** Adds to what is kept; what has the same key is replaced. Rejects with a `KnownError` for what is no backup. */
export async function importAll(file: File): Promise<Imported> {
  const refuse = (found: string): KnownError => new KnownError("backup", `expected a file that Export everything made, found ${found}`);
  if (file.size > MAX_BYTES) throw refuse(`${file.size} bytes`);
  const backup = (await file.text().then(JSON.parse).catch(() => null)) as Partial<Record<keyof Backup, unknown>> | null;
  if (typeof backup !== "object" || backup === null || typeof backup.litecast_backup !== "number") throw refuse("another file");
  if (backup.litecast_backup !== VERSION_OF_BACKUPS) throw refuse(`format ${backup.litecast_backup} instead of ${VERSION_OF_BACKUPS}`);
  const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const all = { settings: Object.entries((backup.settings as object | null | undefined) ?? {}), opened: listOf(backup.opened), reports: listOf(backup.reports), comparisons: listOf(backup.comparisons), files: listOf(backup.files) };
  const settings = all.settings.filter((entry): entry is [string, string] => SETTING.test(entry[0]) && typeof entry[1] === "string" && entry[1].length <= MAX_SETTING_CHARACTERS);
  const opened = all.opened.filter(isOpened);
  const reports = all.reports.flatMap((entry): [string, Report][] => {
    const [key, report] = Array.isArray(entry) ? entry : [];
    const read = typeof key === "string" ? readReport(report) : null;
    return read ? [[key, read]] : [];
  });
  const comparisons = all.comparisons.filter((value): value is Comparison => typeof value === "object" && value !== null && isComparison(value));
  const files = all.files.flatMap(fileOf);
  await transact(["opened", "reports", "comparisons", "files"], "readwrite", (stores) => {
    for (const line of opened) stores.opened.put(line);
    for (const [key, report] of reports) stores.reports.put(report, key);
    for (const comparison of comparisons) stores.comparisons.put(comparison);
    for (const [key, file] of files) stores.files.put(file, key);
  });
  for (const [key, value] of settings) localStorage.setItem(key, value);
  const n_given = all.settings.length + all.opened.length + all.reports.length + all.comparisons.length + all.files.length;
  return { n_reports: opened.length, n_comparisons: comparisons.length, n_settings: settings.length, n_refused: n_given - settings.length - opened.length - reports.length - comparisons.length - files.length };
}

function isOpened(value: unknown): value is Opened {
  if (typeof value !== "object" || value === null) return false;
  const { key, opened_ms, n_operators, summary } = value as Partial<Opened>;
  return typeof key === "string" && isDate(opened_ms) && Number.isFinite(n_operators) && readSummary(summary) !== null;
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary);
}

function fileOf(entry: unknown): [string, File][] {
  const [key, name, contents] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof key !== "string" || typeof name !== "string" || typeof contents !== "string") return [];
  try {
    return [[key, new File([Uint8Array.from(atob(contents), (character) => character.charCodeAt(0))], name)]];
  } catch {
    return [];
  }
}

/** Deletes all that a backup would hold besides reports: devices, accelerators, what was chosen. */
export function forgetSettings(): void {
  for (const key of Object.keys(localStorage).filter((key) => SETTING.test(key))) localStorage.removeItem(key);
}
