/** Node.js, Deno and Bun. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { LitecastError } from "./errors.ts";
import type { Platform } from "./sources.ts";
import { web } from "./web.ts";

/** Node.js: files by path or address. */
export const server: Platform = {
  decompress: promisify(brotliDecompress),
  sha256: (bytes) => createHash("sha256").update(bytes).digest("hex"),
  async read(url) {
    if (/^(https?|data|blob):/.test(url)) return web.read(url);
    const path = url.startsWith("file:") ? new URL(url) : url;
    return readFile(path).catch((error: unknown) => {
      throw new LitecastError("asset", `${url}: expected a file that can be read, found none (${(error as Error).message})`, error);
    });
  },
};
