/** The worker that writes everything which the page keeps in this browser's database into one file, and reads it back. */
import { MAX_FILE_BYTES } from "../limits.ts";
import type { BackupCall, Imported, Settings } from "../protocol.ts";
import type { Report } from "../report.ts";
import { readReport, readSummary } from "../report_check.ts";
import { type Comparison, type Opened, SETTING, isComparison, isDate, isPartKey, putReport, takeWhole, transact } from "../store.ts";
import { KnownError } from "../worker_messenger.ts";
import { type Entry, EntryReader, type Limits } from "./json_entries.ts";
import { answerRequests } from "./request_queue.ts";

const VERSION_OF_BACKUPS = 1;
const NAME_OF_VERSION = "litecast_backup";
/** Four of the largest files that are read. */
const MAX_BYTES = 4 * MAX_FILE_BYTES;
const PIECE_BYTES = 1024 ** 2;
/** More than the page has. */
const MAX_SETTINGS = 1000;
const MAX_SETTING_CHARACTERS = 1_000_000;

const MIB = 1024 ** 2;
/** As many of each as a browser keeps, or more; lines of the history and comparisons are read when the page starts. */
const LIMITS: Record<string, Limits> = {
  [NAME_OF_VERSION]: { entries: 1, bytes: 20, total_bytes: 20 },
  settings: { entries: 1, bytes: 16 * MIB, total_bytes: 16 * MIB },
  opened: { entries: 200, bytes: MIB, total_bytes: 16 * MIB },
  comparisons: { entries: 50, bytes: MIB, total_bytes: 16 * MIB },
  reports: { entries: 200, bytes: 128 * MIB, total_bytes: MAX_FILE_BYTES },
  // 64 MiB in base64.
  files: { entries: 40, bytes: 86 * MIB, total_bytes: MAX_BYTES },
};

/** As JSON, entry by entry: settings, reports, comparisons, and files where they are kept. */
async function written(settings: Settings): Promise<Blob> {
  const parts: (string | Blob)[] = [`{"${NAME_OF_VERSION}":${VERSION_OF_BACKUPS},"settings":${JSON.stringify(Object.fromEntries(settings))}`];
  const writeList = async <Value>(name: "opened" | "reports" | "comparisons" | "files", of: (key: string, value: Value) => unknown): Promise<void> => {
    const keys = (await transact<IDBValidKey[]>([name], "readonly", (stores) => stores[name].getAllKeys())) ?? [];
    parts.push(`,"${name}":[`);
    let n_written = 0;
    for (const key of keys) {
      if (name === "reports" && isPartKey(String(key))) continue;
      // One by one: another tab may write meanwhile.
      const value = name === "reports" ? ((await takeWhole(String(key))) as Value | null) : await transact<Value>([name], "readonly", (stores) => stores[name].get(key));
      if (value === null) continue;
      // A blob is not held in memory.
      parts.push(new Blob([n_written++ === 0 ? "" : ",", JSON.stringify(await of(String(key), value))]));
    }
    parts.push("]");
  };
  await writeList<Opened>("opened", (_, line) => line);
  await writeList<Report>("reports", (key, report) => [key, report]);
  await writeList<Comparison>("comparisons", (_, comparison) => comparison);
  await writeList<File>("files", async (key, file) => [key, file.name, await base64Of(file)]);
  return new Blob([...parts, "}"], { type: "application/json" });
}

/** Adds to what is kept; what has the same key is replaced. Settings are for the page, which alone can keep them. */
async function read(file: File, progress: (done: number) => void): Promise<Imported> {
  const refuse = (found: string): KnownError => new KnownError("backup", `expected a file that Export everything made, found ${found}`);
  if (file.size > MAX_BYTES) throw refuse(`${file.size} bytes`);
  const reader = new EntryReader(LIMITS);
  const imported: Imported = { settings: [], n_reports: 0, n_comparisons: 0, n_refused: 0 };
  let version: unknown;
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    progress(at / file.size);
    const entries = reader.push(new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer()));
    for (const entry of entries) {
      if (version === undefined) {
        version = entry.name === NAME_OF_VERSION ? entry.value : undefined;
        if (typeof version !== "number") throw refuse("another file");
        if (version !== VERSION_OF_BACKUPS) throw refuse(`format ${version} instead of ${VERSION_OF_BACKUPS}`);
      } else await take(entry, imported);
    }
    if (version === undefined) throw refuse("another file");
    if (reader.isBroken()) break;
  }
  if (version === undefined) throw refuse("another file");
  imported.n_refused += reader.n_left_out + (reader.isWhole() ? 0 : 1);
  return imported;
}

async function take({ name, value }: Entry, imported: Imported): Promise<void> {
  if (name === "settings") takeSettings(value, imported);
  else if (name === "opened" && isOpened(value)) {
    await transact(["opened"], "readwrite", ({ opened }) => void opened.put(value));
    imported.n_reports += 1;
  } else if (name === "comparisons" && isObject(value) && isComparison(value)) {
    await transact(["comparisons"], "readwrite", ({ comparisons }) => void comparisons.put(value));
    imported.n_comparisons += 1;
  } else if (!(name === "reports" && (await takeReport(value))) && !(name === "files" && (await takeFile(value)))) imported.n_refused += 1;
}

function takeSettings(value: unknown, imported: Imported): void {
  const given = isObject(value) ? Object.entries(value) : [];
  const isSetting = (entry: [string, unknown]): entry is [string, string] => SETTING.test(entry[0]) && typeof entry[1] === "string" && entry[1].length <= MAX_SETTING_CHARACTERS;
  imported.settings = given.filter(isSetting).slice(0, MAX_SETTINGS);
  imported.n_refused += given.length - imported.settings.length;
}

async function takeReport(entry: unknown): Promise<boolean> {
  const [key, kept] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof key !== "string" || isPartKey(key)) return false;
  const report = readReport(kept);
  if (report) await putReport(key, report, null);
  return report !== null;
}

async function takeFile(entry: unknown): Promise<boolean> {
  const [key, name, contents] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof key !== "string" || typeof name !== "string" || typeof contents !== "string") return false;
  const bytes = bytesOf(contents);
  if (bytes) await transact(["files"], "readwrite", ({ files }) => void files.put(new File([bytes], name), key));
  return bytes !== null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isOpened(value: unknown): value is Opened {
  if (!isObject(value)) return false;
  const { key, opened_ms, n_operators, summary } = value as Partial<Opened>;
  return typeof key === "string" && isDate(opened_ms) && Number.isFinite(n_operators) && readSummary(summary) !== null;
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary);
}

/** Null for what is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}

answerRequests<BackupCall, Blob | Imported>((call, progress) => (call.kind === "write" ? written(call.settings) : read(call.file, progress)), () => []);
