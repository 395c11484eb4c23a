import { withoutLongLists } from "../list_parts.ts";
import { otherBuildError } from "../worker_messenger.ts";
import type { Abort, Failure, Reply, Request } from "../protocol.ts";

declare const self: DedicatedWorkerGlobalScope;

/**
 * Answers requests one at a time, each in a task of its own, so that an abort that arrives while one
 * is being answered still reaches those that wait behind it. Those that `isAside` do not hold up others.
 */
export function answerRequests<Call, Value>(
  answer: (call: Call, progress: (done: number) => void) => Promise<Value> | Value,
  transfer: (value: Value) => Transferable[],
  isAside: (call: Call) => boolean = () => false,
): void {
  const queue: Request<Call>[] = [];
  let busy = false;
  const next = new MessageChannel();

  next.port1.onmessage = async () => {
    const request = queue.shift();
    const replied = request && reply(request);
    if (request && !isAside(request.call)) await replied;
    busy = queue.length > 0;
    if (busy) next.port2.postMessage(null);
  };

  async function reply({ id, version, call }: Request<Call>): Promise<void> {
    try {
      if (version !== VERSION) throw otherBuildError();
      const value = await answer(call, (progress) => self.postMessage({ id, progress } satisfies Reply<Value>));
      const whole = { id, value } satisfies Reply<Value>;
      const bare = withoutLongLists(whole, (part) => self.postMessage({ id, part } satisfies Reply<Value>));
      self.postMessage(bare, transfer(value));
    } catch (error) {
      self.postMessage({ id, error: describe(error) } satisfies Reply<Value>);
    }
  }

  self.onmessage = (event: MessageEvent<Request<Call> | Abort>) => {
    const message = event.data;
    if ("abort" in message) {
      const waiting = queue.findIndex((request) => request.id === message.abort);
      if (waiting >= 0) queue.splice(waiting, 1);
      return;
    }
    queue.push(message);
    if (busy) return;
    busy = true;
    next.port2.postMessage(null);
  };
}

/** An error as it travels between threads. */
export function describe(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: "internal", message: String(error) };
  const { kind, dimensions } = error as { kind?: unknown; dimensions?: readonly string[] };
  return { kind: typeof kind === "string" ? kind : "internal", message: error.message, ...(dimensions ? { dimensions } : {}) };
}
