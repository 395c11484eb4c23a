/** A file with models inside, which a worker of its own opens: the page does not wait for it, and it can be stopped. */
import { KnownError, Messenger } from "./worker_messenger.ts";
import type { Model, ModelFile } from "./model_files.ts";
import type { Listed, OpenCall, Packing } from "./protocol.ts";

/** A worker that nobody asks anything of for this long ends, with all that it holds. */
const IDLE_MS = 5000;

/** A file with models inside. Its worker ends when nobody asks it for some seconds. */
export class Container {
  readonly #file: File;
  readonly #packing: Packing;
  #messenger: Messenger | null = null;
  #n_waiting = 0;

  constructor(file: File, packing: Packing) {
    this.#file = file;
    this.#packing = packing;
  }

  async models(signal: AbortSignal, progress: (done: number) => void): Promise<Model[]> {
    const listed = await this.#ask<Listed[]>({ kind: "list", file: this.#file, packing: this.#packing }, signal, progress);
    return listed.map((model): Model => {
      if ("failure" in model) return { name: model.name, failure: new KnownError(model.failure.kind, model.failure.message) };
      return "file" in model ? model.file : new PackedModel(this, model.name, model.n_bytes, model.entry);
    });
  }

  unpack(entry: number): Promise<ArrayBuffer> {
    return this.#ask({ kind: "unpack", file: this.#file, packing: this.#packing, entry });
  }

  async #ask<Value>(call: OpenCall, signal?: AbortSignal, progress?: (done: number) => void): Promise<Value> {
    if (!this.#messenger?.alive) this.#messenger = new Messenger(new Worker(new URL(`open.js${VERSION}`, document.baseURI), { type: "module" }));
    const messenger = this.#messenger;
    this.#n_waiting += 1;
    const stop = (): void => messenger.close();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await messenger.request<Value>(call, [], signal, progress);
    } finally {
      signal?.removeEventListener("abort", stop);
      this.#n_waiting -= 1;
      setTimeout(() => this.#n_waiting === 0 && messenger.close(), IDLE_MS);
    }
  }
}

class PackedModel implements ModelFile {
  readonly #container: Container;
  readonly #entry: number;

  constructor(container: Container, readonly name: string, readonly size: number, entry: number) {
    this.#container = container;
    this.#entry = entry;
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#container.unpack(this.#entry);
  }
}
