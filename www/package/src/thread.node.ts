import { parentPort } from "node:worker_threads";
import type { Request } from "./protocol.ts";
import { answer } from "./thread.ts";

if (!parentPort) throw new Error("expected to be run as a worker by litecast/worker");
const port = parentPort;
const take = answer((message) => port.postMessage(message));
port.on("message", (request: Request) => take(request));
