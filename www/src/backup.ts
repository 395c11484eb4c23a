/** Everything that the page keeps in this browser as one file, and back. A worker makes and reads it. Loaded when a person asks for it. */
import { Messenger } from "./worker_messenger.ts";
import type { BackupCall, Imported, Settings } from "./protocol.ts";
import { SETTING } from "./store.ts";

/** How much a backup brought. */
export interface Added extends Omit<Imported, "settings"> {
  n_settings: number;
}

async function ask<Value>(call: BackupCall, signal?: AbortSignal, progress?: (done: number) => void): Promise<Value> {
  const messenger = new Messenger(new Worker(new URL(`backup.js${VERSION}`, document.baseURI), { type: "module" }));
  signal?.addEventListener("abort", () => messenger.close(), { once: true });
  try {
    return await messenger.request<Value>(call, [], signal, progress);
  } finally {
    messenger.close();
  }
}

function settings(): Settings {
  return Object.entries(localStorage as unknown as Record<string, string>).filter(([name]) => SETTING.test(name));
}

/** Settings, reports, comparisons, and files where they are kept. */
export function exportAll(): Promise<Blob> {
  return ask<Blob>({ kind: "write", settings: settings() });
}

/**
 * Adds to what is kept; what has the same key is replaced. Rejects with a `KnownError` for what is no backup. `progress` is
 * told of the part that is read; after `signal` aborts, what was read by then stays.
 */
export async function importAll(file: File, signal: AbortSignal, progress: (done: number) => void): Promise<Added> {
  const { settings, ...imported } = await ask<Imported>({ kind: "read", file }, signal, progress);
  const n_settings = settings.filter(([name, value]) => keepSetting(name, value)).length;
  return { ...imported, n_settings, n_refused: imported.n_refused + settings.length - n_settings };
}

/** Whether there was room. */
function keepSetting(name: string, value: string): boolean {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

/** Deletes all that a backup would hold besides reports: devices, accelerators, what was chosen. */
export function forgetSettings(): void {
  for (const [name] of settings()) localStorage.removeItem(name);
}
