/** Files beside their reports, in this browser's database: only where a person has said so. */
import type { ModelFile } from "./model_files.ts";
import { reportHistory, transact } from "./store.ts";

/** Of one file; larger ones are opened again. */
const MAX_KEPT_FILE_BYTES = 64 * 1024 ** 2;
const MAX_KEPT_FILES = 40;
const KEY = "litecast.keep-files";

/** Whether they are kept. */
export function keepsFiles(): boolean {
  try {
    return localStorage.getItem(KEY) === "yes";
  } catch {
    return false;
  }
}

/** Files that were kept are forgotten where they are no longer to be. */
export async function chooseToKeepFiles(keeps: boolean): Promise<void> {
  try {
    localStorage.setItem(KEY, keeps ? "yes" : "no");
  } catch {
    // A browser that keeps nothing keeps no files either.
  }
  if (!keeps) await transact(["files"], "readwrite", ({ files }) => files.clear());
}

/** Where a person has chosen so, and the file is not too large. */
export async function keepFile(key: string, model: ModelFile): Promise<void> {
  if (!keepsFiles() || model.size > MAX_KEPT_FILE_BYTES) return;
  const file = model instanceof File ? model : new File([await model.arrayBuffer()], model.name);
  await transact(["files"], "readwrite", ({ files }) => files.put(file, key));
  const kept = new Set(await transact<IDBValidKey[]>(["files"], "readonly", ({ files }) => files.getAllKeys()));
  const surplus = (await reportHistory()).filter((opened) => kept.has(opened.key)).slice(MAX_KEPT_FILES);
  await transact(["files"], "readwrite", ({ files }) => surplus.forEach((opened) => files.delete(opened.key)));
}

/** The file of a kept report; null where it was not kept. */
export async function keptFile(key: string): Promise<File | null> {
  const kept = await transact<unknown>(["files"], "readonly", ({ files }) => files.get(key));
  return kept instanceof File ? kept : null;
}
