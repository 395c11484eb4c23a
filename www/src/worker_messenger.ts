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
}

/** Questions and answers with one worker. After `close`, or when the worker dies, all that wait are refused. */
export class Messenger {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #last_id = 0;
  #dead: Failure | null = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<Reply<never>>) => this.#settle(event.data);
    worker.onerror = (event) => this.#die({ kind: "worker", message: event.message || "the worker could not be started" });
    worker.onmessageerror = () => this.#die({ kind: "worker", message: "the worker sent something that could not be read" });
  }

  get alive(): boolean {
    return this.#dead === null;
  }

  request<Value>(call: unknown, transfer: Transferable[], signal?: AbortSignal, progress: (done: number) => void = () => {}): Promise<Value> {
    if (this.#dead) return Promise.reject(new KnownError(this.#dead.kind, this.#dead.message));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.#last_id;
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, progress });
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
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting.reject(new KnownError(reply.error.kind, reply.error.message, reply.error.dimensions));
    else waiting.resolve(reply.value);
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
  }
}
