/** What is unpacked, in memory of the length that was announced: more of it is an error, and so is less. */
export class Unpacked {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #n_bytes = 0;
  readonly writable: WritableStream<Uint8Array>;

  constructor(n_bytes: number) {
    this.#bytes = new Uint8Array(n_bytes);
    this.writable = new WritableStream({ write: (part) => this.#write(part) });
  }

  #write(part: Uint8Array): void {
    if (part.length > this.#bytes.length - this.#n_bytes) throw new Error(`expected ${this.#bytes.length} bytes when unpacked, found more`);
    this.#bytes.set(part, this.#n_bytes);
    this.#n_bytes += part.length;
  }

  whole(): ArrayBuffer {
    if (this.#n_bytes < this.#bytes.length) throw new Error(`expected ${this.#bytes.length} bytes when unpacked, found ${this.#n_bytes}`);
    return this.#bytes.buffer;
  }
}
