/** Reports for files, made in workers that are replaced when they break, hang or grow. */
import { type Assets, type AssetUrls, loadAssets } from "./assets.ts";
import { MAX_FILE_BYTES } from "./limits.ts";
import { KnownError, Messenger } from "./messenger.ts";
import type { CalibrateCall, EstimateCall, Estimated, LayoutCall, LayoutValue, StartCall, Started } from "./protocol.ts";
import type { Calibrated, Measurement, Report } from "./report.ts";

/** A file of 100,000 operators takes some seconds; what takes longer than this was made to. */
const TIME_LIMIT_MS = 60_000;
/** A request that was given up may end by itself within this; a worker that is still busy then is ended. */
const GRACE_MS = 250;
/** The module's memory never shrinks: a worker with more than this is ended once it has answered. */
const MAX_KEPT_MEMORY_BYTES = 256 * 1024 ** 2;
/** The spare worker starts when the page has been left alone for this long after a report. */
const SPARE_DELAY_MS = 500;

export class Estimator {
  readonly #urls: AssetUrls;
  #assets: Promise<Assets>;
  #active: EstimateWorker;
  #spare: EstimateWorker | null = null;
  /** Of the first worker. */
  readonly started: Promise<Started>;

  constructor(urls: AssetUrls) {
    this.#urls = urls;
    this.#assets = loadAssets(urls);
    this.#active = this.#startWorker();
    this.started = this.#active.started;
  }

  /** For `batch` inputs at a time. `key` is where the report is kept in the browser's database, null for nowhere. */
  async estimate(file: File, batch: number, key: string | null, signal: AbortSignal): Promise<Report> {
    const bytes = await readFile(file);
    signal.throwIfAborted();
    const worker = this.#freeWorker();
    await worker.started;
    signal.throwIfAborted();
    const call: EstimateCall = { kind: "estimate", file: file.name, batch, bytes, key };
    try {
      return await worker.estimate(call, signal);
    } finally {
      setTimeout(() => this.#keepSpare(), SPARE_DELAY_MS);
    }
  }

  /** The latency of a network with these estimates on a device where others were measured. */
  async calibrate(measurements: Measurement[], estimates_ms: Record<string, number>): Promise<Calibrated> {
    const call: CalibrateCall = { kind: "calibrate", measurements, estimates_ms };
    const ask = async (): Promise<Calibrated> => {
      const worker = this.#freeWorker();
      await worker.started;
      return worker.calibrate(call);
    };
    // A file that hung may have taken the worker with it.
    return ask().catch((error: unknown) => (isClosed(error) ? ask() : Promise.reject(error)));
  }

  /** The active worker, unless it is ended or still busy with what nobody waits for. */
  #freeWorker(): EstimateWorker {
    if (!this.#active.is_abandoned && this.#active.alive) return this.#active;
    this.#active.close();
    this.#active = this.#spare?.alive ? this.#spare : this.#startWorker();
    this.#spare = null;
    return this.#active;
  }

  #keepSpare(): void {
    this.#freeWorker();
    if (!this.#spare?.alive) this.#spare = this.#startWorker();
  }

  #startWorker(): EstimateWorker {
    const assets = this.#assets.catch(() => (this.#assets = loadAssets(this.#urls)));
    return new EstimateWorker(assets);
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof KnownError && error.kind === "closed";
}

class EstimateWorker {
  readonly #messenger = new Messenger(new Worker(new URL(`estimate.js${VERSION}`, document.baseURI), { type: "module" }));
  readonly started: Promise<Started>;
  /** Busy with a request that nobody waits for. */
  is_abandoned = false;

  constructor(assets: Promise<Assets>) {
    this.started = assets.then((assets) => this.#messenger.request<Started>({ kind: "start", assets } satisfies StartCall, []));
    this.started.catch(() => this.close());
  }

  get alive(): boolean {
    return this.#messenger.alive;
  }

  async estimate(call: EstimateCall, signal: AbortSignal): Promise<Report> {
    const answer = this.#messenger.request<Estimated>(call, [call.bytes]);
    const ended = answer.then(
      ({ memory_bytes }) => memory_bytes <= MAX_KEPT_MEMORY_BYTES,
      (error: unknown) => !(error instanceof KnownError && error.kind === "internal"), // after a trap memory can be in any state
    );
    void ended.then((is_sound) => {
      this.is_abandoned = false;
      if (!is_sound) this.close();
    });
    const { report } = await Promise.race([answer, this.#abandoned(signal, ended), this.#timedOut(ended)]);
    return report;
  }

  calibrate(call: CalibrateCall): Promise<Calibrated> {
    return this.#messenger.request<Calibrated>(call, []);
  }

  close(): void {
    this.#messenger.close();
  }

  #abandoned(signal: AbortSignal, ended: Promise<unknown>): Promise<never> {
    return new Promise((_, reject) => {
      const abandon = (): void => {
        reject(signal.reason);
        this.is_abandoned = true;
        const timer = setTimeout(() => this.close(), GRACE_MS);
        void ended.then(() => clearTimeout(timer));
      };
      signal.addEventListener("abort", abandon, { once: true });
      void ended.then(() => signal.removeEventListener("abort", abandon));
    });
  }

  #timedOut(ended: Promise<unknown>): Promise<never> {
    return new Promise((_, reject) => {
      const timer = setTimeout(() => {
        reject(new KnownError("time-limit", `expected a report within ${TIME_LIMIT_MS / 1000} s, found none; the estimate was stopped`));
        this.close();
      }, TIME_LIMIT_MS);
      void ended.then(() => clearTimeout(timer));
    });
  }
}

async function readFile(file: File): Promise<ArrayBuffer> {
  if (file.size > MAX_FILE_BYTES) {
    throw new KnownError("too-large", `expected a file of at most ${MAX_FILE_BYTES} bytes, found ${file.size}`);
  }
  return file.arrayBuffer().catch((error: unknown) => {
    throw new KnownError("unreadable", `the browser could not read it (${String(error)})`);
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
  return new Messenger(new Worker(new URL(`layout.js${VERSION}`, document.baseURI), { type: "module" }));
}
