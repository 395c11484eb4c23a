/** Browsers, and whatever else has their functions. */
import { LitecastError } from "./errors.ts";
import type { Platform } from "./sources.ts";

/** Where there is no Brotli yet, with a decoder in JavaScript, which takes a fifth of a second for the module. */
async function decompress(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = brotliStream();
  if (stream) return new Uint8Array(await new Response(new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(stream)).arrayBuffer());
  const { decompress } = await import("./assets/brotli.js");
  return decompress(bytes);
}

function brotliStream(): DecompressionStream | null {
  try {
    return new DecompressionStream("brotli" as CompressionFormat);
  } catch {
    return null;
  }
}

/** Browsers: files by address. */
export const web: Platform = {
  decompress,
  async read(url) {
    const response = await fetch(url).catch((error: unknown) => {
      throw new LitecastError("asset", `${url}: expected a file, but the request failed (${String(error)})`, error);
    });
    if (!response.ok) throw new LitecastError("asset", `${url}: expected a file, found HTTP status ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  },
};
