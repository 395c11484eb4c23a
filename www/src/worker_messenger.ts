import { type ListPart, addPart } from "./list_parts.ts";
import type { Failure, Reply } from "./protocol.ts";

/** An error with a stable `kind`, made from the `Failure` a worker sent or a file that cannot be opened. */
export class KnownError extends Error {
  constructor(readonly kind: string, message: string, readonly dimensions: readonly string[] = []) {
    super(message);
    this.name = "KnownError";
  }
}

/** What was loaded later than the page is of another build than the page. */
export function otherBuildError(): KnownError {
  return new KnownError("other-build", "the server has another build of this page since this tab was opened; reload the tab");
}

/** The error of a file that the browser could not read. */
export function unreadableError(error: unknown): KnownError {
  return new KnownError("unreadable", `the browser could not read it (${String(error)})`);
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
  progress: (done: number) => void;
  /** Of the answer's lists, one of all of its parts that came. */
  lists: ListPart[];
}

/** Questions and answers with one worker. After `close`, or when the worker dies, all that wait are refused. */
export class Messenger {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  /** Who hears when nobody waits. */
  #idle: (() => void)[] = [];
  #last_id = 0;
  #dead: Failure | null = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<Reply<never>>) => this.#settle(event.data);
    worker.onerror = (event) => this.#die({ kind: "worker", message: event.message || "the worker could not be started" });
    worker.onmessageerror = () => this.#die({ kind: "worker", message: "the worker sent something that could not be read" });
  }

  /** Resolves when nobody waits for an answer any more. */
  whenIdle(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  get alive(): boolean {
    return this.#dead === null;
  }

  request<Value>(call: unknown, transfer: Transferable[], signal?: AbortSignal, progress: (done: number) => void = () => {}): Promise<Value> {
    if (this.#dead) return Promise.reject(new KnownError(this.#dead.kind, this.#dead.message));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.#last_id;
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, progress, lists: [] });
      signal?.addEventListener("abort", () => this.#abort(id, signal.reason), { once: true });
      this.#worker.postMessage({ id, version: VERSION, call }, transfer);
    });
  }

  close(): void {
    this.#worker.terminate();
    this.#die({ kind: "closed", message: "the worker was stopped" });
  }

  #settle(reply: Reply<never>): void {
    const waiting = this.#waiting.get(reply.id);
    if (!waiting) return;
    if ("progress" in reply) return waiting.progress(reply.progress);
    if ("part" in reply) return hold(waiting.lists, reply.part);
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting.reject(new KnownError(reply.error.kind, reply.error.message, reply.error.dimensions));
    else {
      for (const list of waiting.lists) addPart(reply, list);
      waiting.resolve(reply.value);
    }
    if (this.#waiting.size > 0) return;
    for (const hear of this.#idle.splice(0)) hear();
  }

  #abort(id: number, reason: unknown): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    this.#worker.postMessage({ abort: id });
    waiting.reject(reason);
  }

  #die(failure: Failure): void {
    this.#dead ??= failure;
    for (const { reject } of this.#waiting.values()) reject(new KnownError(failure.kind, failure.message));
    this.#waiting.clear();
    for (const hear of this.#idle.splice(0)) hear();
  }
}

/** Parts of one list come one after the other. */
function hold(lists: ListPart[], part: ListPart): void {
  const last = lists.at(-1);
  if (last?.path.join() !== part.path.join()) lists.push(part);
  else for (const item of part.items) last.items.push(item);
}
