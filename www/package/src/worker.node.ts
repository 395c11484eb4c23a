/** The same estimator in a thread of its own. */
export { LitecastError } from "./errors.ts";
import { Worker } from "node:worker_threads";
import type { WorkerLoadOptions } from "../types/worker.d.ts";
import { Client, type Thread } from "./client.ts";
import { loadFiles } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

export async function load(options: WorkerLoadOptions = {}): Promise<Client> {
  const { worker = new URL("./thread.node.js", import.meta.url), ...others } = options;
  const files = loadFiles(others, server, shipped);
  files.catch(() => undefined); // awaited below
  return Client.connect(threadOf(new Worker(worker as URL | string)), () => files);
}

function threadOf(worker: Worker): Thread {
  worker.unref();
  let n_waiting = 0;
  return {
    post(message, transfer) {
      // A program ends when nothing waits for the thread.
      if (n_waiting++ === 0) worker.ref();
      worker.postMessage(message, transfer);
    },
    listen(onMessage, onFailure) {
      worker.ref();
      n_waiting++;
      worker.on("message", (message) => {
        if (--n_waiting === 0) worker.unref();
        onMessage(message);
      });
      worker.on("error", (error) => onFailure(`the thread stopped: ${error.message}`));
    },
    stop: () => void worker.terminate(),
  };
}
