/** The same estimator in a thread of its own. */
export { LitecastError } from "./errors.ts";
import { Worker } from "node:worker_threads";
import type { WorkerLoadOptions } from "../types/worker.d.ts";
import { plainObject } from "./arguments.ts";
import { Client, type Thread } from "./client.ts";
import { inWords, reading, thrownInWords, wrongArgument } from "./errors.ts";
import { loadFiles } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

/** Starts the estimator in a thread of Node.js. */
export async function load(options: WorkerLoadOptions = {}): Promise<Client> {
  const { worker = new URL("./thread.node.js", import.meta.url), ...others } = reading("load()", () => ({ ...plainObject(options, "load()") }));
  const thread = reading("worker", () => threadOf(given(worker)));
  const files = loadFiles(others, server, shipped);
  files.catch(() => undefined); // awaited below
  return Client.connect(thread, () => files);
}

function given(worker: unknown): Worker {
  if (worker instanceof Worker) return worker;
  try {
    return new Worker(worker as URL | string);
  } catch (error) {
    throw wrongArgument(`worker: expected a Worker, or the URL or path of litecast/thread, found ${inWords(worker)} (${thrownInWords(error)})`, error);
  }
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
      worker.on("message", (message) => {
        if (--n_waiting === 0) worker.unref();
        onMessage(message);
      });
      worker.on("error", (error) => onFailure(`the thread stopped: ${error.message}`));
      worker.on("exit", (code) => onFailure(`the thread ended with code ${code}`));
    },
    stop: () => void worker.terminate(),
  };
}
