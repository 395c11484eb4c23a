/** Messages between a program and the thread that estimates for it. */
import type * as api from "../types/index.d.ts";
import { LitecastError } from "./errors.ts";
import type { LiteCast } from "./litecast.ts";
import type { Loaded } from "./load.ts";

/** Everything but what the program's side answers by itself. */
export type Method = Exclude<keyof api.LiteCast, "version" | "dispose" | typeof Symbol.dispose>;

export type Call = { start: Loaded } | { method: Method; args: unknown[] };

export interface Request {
  id: number;
  call: Call;
}

export interface Failure {
  kind: api.LitecastErrorKind;
  message: string;
  dimensions: readonly string[];
  file?: string | undefined;
}

export type Reply = { id: number; value: unknown } | { id: number; error: Failure };

export const describe = (error: unknown): Failure =>
  error instanceof LitecastError
    ? { kind: error.kind, message: error.message, dimensions: error.dimensions, file: error.file }
    : { kind: "internal", message: String(error), dimensions: [] };

export const restore = ({ kind, message, dimensions, file }: Failure): LitecastError => new LitecastError(kind, message, undefined, dimensions, file);

/** One of many reports, in which an error would lose its kind on the way. */
export type Entry = { report: unknown } | { error: Failure };

export function call(litecast: LiteCast, method: Method, args: unknown[]): unknown {
  if (method === "memory_bytes") return litecast.memory_bytes;
  const called = litecast[method] as (...args: unknown[]) => unknown;
  const value = called.apply(litecast, args);
  if (method !== "estimateMany") return value;
  return (value as unknown[]).map((entry): Entry => (entry instanceof LitecastError ? { error: describe(entry) } : { report: entry }));
}

export function received(method: Method, value: unknown): unknown {
  if (method !== "estimateMany") return value;
  return (value as Entry[]).map((entry) => ("error" in entry ? restore(entry.error) : entry.report));
}
