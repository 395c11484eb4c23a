/** The same estimator in a module worker, so that a page stays responsive. */
export { LitecastError } from "./errors.ts";
import type { WorkerLoadOptions } from "../types/worker.d.ts";
import { plainObject, tag } from "./arguments.ts";
import { Client, type Thread } from "./client.ts";
import { inWords, isLitecastError, LitecastError, reading, thrownInWords, wrongArgument } from "./errors.ts";
import { loadFiles } from "./load.ts";
import { shipped } from "./shipped.ts";
import { web } from "./web.ts";

/** Starts the estimator in a worker of the browser. */
export async function load(options: WorkerLoadOptions = {}): Promise<Client> {
  const { worker, ...others } = reading("load()", () => ({ ...plainObject(options, "load()") }));
  const thread = worker === undefined ? null : reading("worker", () => threadOf(given(worker)));
  const files = loadFiles(others, web, shipped);
  files.catch(() => undefined); // awaited below
  if (thread) return Client.connect(thread, () => files);
  try {
    return await Client.connect(threadOf(started(new URL("./thread.js", import.meta.url))), () => files);
  } catch (error) {
    if (!isLitecastError(error) || error.kind !== "worker") throw error;
    // A bundler that does not know that the script is a worker has moved this one away from it, or this one is of
    // another origin, from which browsers start no worker.
    return Client.connect(await fromText(), () => files);
  }
}

function given(worker: unknown): Worker {
  if (typeof worker === "string" || tag(worker) === "URL") return started(worker as string | URL);
  if (typeof worker === "object" && worker !== null && "postMessage" in worker) return worker as Worker;
  throw wrongArgument(`worker: expected a Worker or the URL of litecast/thread, found ${inWords(worker)}`);
}

function started(url: string | URL): Worker {
  try {
    return new Worker(url, { type: "module" });
  } catch (error) {
    throw new LitecastError("worker", `${String(url)}: the worker could not be started (${thrownInWords(error)})`, error);
  }
}

async function fromText(): Promise<Thread> {
  const { default: text } = await import("./assets/worker.js");
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const thread = threadOf(new Worker(url));
  return { ...thread, stop: () => (thread.stop(), URL.revokeObjectURL(url)) };
}

function threadOf(worker: Worker): Thread {
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen(onMessage, onFailure) {
      worker.onmessage = ({ data }) => onMessage(data);
      worker.onerror = (event) => {
        event.preventDefault();
        onFailure(event.message || "the worker could not be started: its script was not found, or a content security policy forbids it");
      };
      worker.onmessageerror = () => onFailure("a message of the worker could not be read");
    },
    stop: () => worker.terminate(),
  };
}
