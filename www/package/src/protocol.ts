/** Messages between a program and the thread that estimates for it. */
import type * as api from "../types/index.d.ts";
import { isLitecastError, LitecastError, thrownInWords } from "./errors.ts";
import type { LiteCast } from "./litecast.ts";
import type { Loaded } from "./load.ts";

/** Everything but what the program's side answers by itself. */
export type Method = Exclude<keyof api.LiteCast, "version" | "dispose" | typeof Symbol.dispose>;

/** What a thread is asked for: to start, or to call a method. */
export type Call = { start: Loaded } | { method: Method; args: unknown[] };

/** A call with its number. */
export interface Request {
  id: number;
  call: Call;
}

/** An error as it travels between threads. */
export interface Failure {
  kind: api.LitecastErrorKind;
  message: string;
  dimensions: readonly string[];
  file?: string | undefined;
}

/** The answer to the request with the same number. */
export type Reply = { id: number; value: unknown } | { id: number; error: Failure };

/** An error as data. */
export const describe = (error: unknown): Failure =>
  isLitecastError(error)
    ? { kind: error.kind, message: error.message, dimensions: error.dimensions, file: error.file }
    : { kind: "internal", message: thrownInWords(error), dimensions: [] };

/** The error again on the other side. */
export const restore = ({ kind, message, dimensions, file }: Failure): LitecastError => new LitecastError(kind, message, undefined, dimensions, file);

/** One of many reports, in which an error would lose its kind on the way. */
export type Entry = { report: unknown } | { error: Failure };

/** Calls a method of the estimator, with errors in lists as data. */
export function call(litecast: LiteCast, method: Method, args: unknown[]): unknown {
  if (method === "memory_bytes") return litecast.memory_bytes;
  const called = litecast[method] as (...args: unknown[]) => unknown;
  const value = called.apply(litecast, args);
  if (method !== "estimateMany") return value;
  return (value as unknown[]).map((entry): Entry => (isLitecastError(entry) ? { error: describe(entry) } : { report: entry }));
}

/** The value of a method as the other side gives it to its caller. */
export function received(method: Method, value: unknown): unknown {
  if (method !== "estimateMany") return value;
  return (value as Entry[]).map((entry) => ("error" in entry ? restore(entry.error) : entry.report));
}
