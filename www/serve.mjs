/**
 * Serves www/dist: `node www/serve.mjs [--port 8000]`. Development only: one folder, read whole, no caching of anything
 * but what the browser revalidates.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const DIST = path.join(path.dirname(fileURLToPath(import.meta.url)), "dist");

const MEDIA_TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".wasm": "application/wasm",
  ".onnx": "application/octet-stream",
  ".tflite": "application/octet-stream",
};

/** As in index.html, and no frames around the page, which only a header can say. */
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
  "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** The file under `folder` that a request path names, or null where it would leave the folder. */
function resolve(folder, url) {
  let name;
  try {
    name = decodeURIComponent(new URL(url, "http://localhost").pathname);
  } catch {
    return null;
  }
  const file = path.join(folder, name.endsWith("/") ? `${name}index.html` : name);
  return file.startsWith(folder + path.sep) ? file : null;
}

async function answer(folder, request, response) {
  const file = resolve(folder, request.url ?? "/");
  const bytes = file && (await readFile(file).catch(() => null));
  if (!bytes) return response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const headers = { ...HEADERS, etag, "content-type": MEDIA_TYPES[path.extname(file)] ?? "application/octet-stream" };
  if (request.headers["if-none-match"] === etag) return response.writeHead(304, headers).end();
  return response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : bytes);
}

/** Serves `folder` on the loopback interface; `port` 0 takes a free one. */
export function serve({ port = 0, folder = DIST } = {}) {
  const server = createServer((request, response) => void answer(path.resolve(folder), request, response));
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => resolve({ server, url: `http://127.0.0.1:${server.address().port}/` }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "8000" } } });
  const { url } = await serve({ port: Number(values.port) });
  console.log(`LiteCast is served at ${url} (Ctrl+C ends it)`);
}
