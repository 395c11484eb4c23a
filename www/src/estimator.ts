import { KnownError, Messenger } from "./messenger.ts";
import type { CalibrateCall, EstimateCall, LayoutCall, LayoutValue, StartCall, Started } from "./protocol.ts";
import type { Calibrated, Measurement, Report } from "./report.ts";

/**
 * Largest file that is read. A file is held once by the page and once by the module, whose memory ends at 4 GiB;
 * FlatBuffers itself ends at 2 GiB.
 */
const MAX_FILE_BYTES = 1024 ** 3;

/** Reports for files, made in a worker that is replaced when it breaks. */
export class Estimator {
  readonly #urls: StartCall["urls"];
  #messenger: Messenger;
  started: Promise<Started>;

  constructor(urls: StartCall["urls"]) {
    this.#urls = urls;
    [this.#messenger, this.started] = this.#start();
  }

  /** For `batch` inputs at a time. */
  async estimate(file: File, batch: number, signal: AbortSignal): Promise<Report> {
    const bytes = await readFile(file);
    signal.throwIfAborted();
    if (!this.#messenger.alive) [this.#messenger, this.started] = this.#start();
    await this.started;
    signal.throwIfAborted();
    const call: EstimateCall = { kind: "estimate", file: file.name, batch, bytes };
    try {
      return await this.#messenger.request<Report>(call, [bytes], signal);
    } catch (error) {
      // After a trap the module's memory can be in any state.
      if (error instanceof KnownError && error.kind === "internal") this.#messenger.close();
      throw error;
    }
  }

  /** The latency of a network with these estimates on a device where others were measured. */
  async calibrate(measurements: Measurement[], estimates_ms: Record<string, number>): Promise<Calibrated> {
    const call: CalibrateCall = { kind: "calibrate", measurements, estimates_ms };
    return this.#messenger.request<Calibrated>(call, []);
  }

  #start(): [Messenger, Promise<Started>] {
    const worker = new Worker(new URL("./estimate.js", import.meta.url), { type: "module" });
    const messenger = new Messenger(worker);
    const call: StartCall = { kind: "start", urls: this.#urls };
    const started = messenger.request<Started>(call, []);
    started.catch(() => messenger.close());
    return [messenger, started];
  }
}

async function readFile(file: File): Promise<ArrayBuffer> {
  if (file.size > MAX_FILE_BYTES) {
    throw new KnownError("too-large", `expected a file of at most ${MAX_FILE_BYTES} bytes, found ${file.size}`);
  }
  return file.arrayBuffer().catch((error: unknown) => {
    throw new KnownError("unreadable", `the browser could not read it (${String(error)}); is it a folder?`);
  });
}

/** Layouts of graphs; a new one stops the one before, which may be long. */
export class LayoutClient {
  #messenger = startLayout(); // now, so that the first drawing need not wait for the worker
  #busy = false;

  async layOut(call: LayoutCall): Promise<LayoutValue> {
    if (this.#busy) this.#messenger.close();
    if (!this.#messenger.alive) this.#messenger = startLayout();
    this.#busy = true;
    const messenger = this.#messenger;
    try {
      return await messenger.request<LayoutValue>(call, [call.node_widths.buffer as ArrayBuffer, call.edges.buffer as ArrayBuffer]);
    } finally {
      if (messenger === this.#messenger) this.#busy = false;
    }
  }
}

function startLayout(): Messenger {
  return new Messenger(new Worker(new URL("./layout.js", import.meta.url), { type: "module" }));
}
