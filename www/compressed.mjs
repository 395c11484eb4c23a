/**
 * What servers and packages send: bytes in as few as they compress to. Brotli takes half a minute for a module, so that what it
 * made of the same bytes is kept. `node www/compressed.mjs FILE...` prints the bytes of each raw, as gzip and as brotli.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const KEPT = fileURLToPath(new URL("../target/compressed/", import.meta.url));

const MAKERS = {
  br(bytes) {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
    const params = { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: bytes.length };
    return promisify(brotliCompress)(bytes, { params });
  },
  gz: (bytes) => promisify(gzip)(bytes, { level: 9 }),
};
export const ENDINGS = Object.keys(MAKERS);

/** `null` if `is_kept` asks for what is kept alone, and nothing is. */
export async function compressed(bytes, ending, { is_kept = false } = {}) {
  const file = path.join(KEPT, `${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}.${ending}`);
  return readFile(file).catch(async () => {
    if (is_kept) return null;
    const made = await MAKERS[ending](bytes);
    await mkdir(KEPT, { recursive: true });
    // Files with equal bytes may be compressed at once.
    const part = `${file}.${randomUUID()}`;
    await writeFile(part, made);
    await rename(part, file);
    return made;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const file of process.argv.slice(2)) {
    const bytes = await readFile(file);
    const [br, gz] = await Promise.all(ENDINGS.map((ending) => compressed(bytes, ending)));
    console.log(`${bytes.length} ${gz.length} ${br.length}`);
  }
}
