/** Why a file with models inside is not opened, or not all of it. */
import * as format from "../format.ts";
import { MAX_FILE_BYTES } from "../limits.ts";
import { KnownError } from "../worker_messenger.ts";
import type { Listed } from "../protocol.ts";

/** The error of a file that would unpack to more than may be held. */
export function tooLargeError(max_bytes: number, n_bytes: number): KnownError {
  const [most, found] = [max_bytes, n_bytes].map((bytes) => format.text(format.bytes(bytes)));
  const advice = max_bytes < MAX_FILE_BYTES ? "; unpack it, and open what comes out" : "";
  return new KnownError("too-large", `expected at most ${most} when unpacked, found ${found}${advice}`);
}

/** The error of an archive that cannot be unpacked. */
export function damagedError(what: string, error: unknown): KnownError {
  return new KnownError("unreadable", `expected a ${what}, found a damaged one (${error instanceof Error ? error.message : String(error)})`);
}

/** Says that there are more models than are opened. */
export function leftOutModels(name: string, n_models: number, max_models: number): Listed[] {
  if (n_models === 0) return [];
  return [{ name, failure: { kind: "limit-exceeded", message: `expected at most ${max_models} models in one file, found ${n_models} more` } }];
}
