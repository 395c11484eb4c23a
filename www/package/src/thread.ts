/** The thread's side: one request after another. */
import { LitecastError } from "./errors.ts";
import type { LiteCast } from "./litecast.ts";
import { start } from "./load.ts";
import { call, describe, type Reply, type Request } from "./protocol.ts";

/** Answers requests in a thread, by way of `post`. */
export function answer(post: (message: Reply) => void): (request: Request) => void {
  let litecast: LiteCast | null = null;
  let last: Promise<void> = Promise.resolve();

  async function reply({ id, call: asked }: Request): Promise<void> {
    try {
      if ("start" in asked) {
        litecast = await start(asked.start);
        post({ id, value: litecast.version });
      } else if (litecast) post({ id, value: call(litecast, asked.method, asked.args) });
      else throw new LitecastError("worker", "the thread was not started");
    } catch (error) {
      post({ id, error: describe(error) });
    }
  }

  return (request) => {
    last = last.then(() => reply(request));
  };
}
