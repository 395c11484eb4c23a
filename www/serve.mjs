/**
 * Serves www/dist: `node www/serve.mjs [--port 8000]`. What was compressed ahead is sent compressed; what is asked for
 * with a version, or has the hash of its contents in its name, is kept by the browser for ever, everything else is
 * revalidated.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CACHE_OTHER, CACHE_VERSIONED, HEADERS } from "./headers.mjs";

const DIST = path.join(path.dirname(fileURLToPath(import.meta.url)), "dist");

const MEDIA_TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".tflite": "application/octet-stream",
  ".onnx": "application/octet-stream",
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

/** Encodings by preference, with the endings of their files. */
const ENCODINGS = [["br", ".br"], ["gzip", ".gz"]];

/** The bytes to send and how they are encoded; null where there is no such file. */
async function find(file, accepted) {
  for (const [encoding, ending] of ENCODINGS) {
    if (!accepted.includes(encoding)) continue;
    const bytes = await readFile(`${file}${ending}`).catch(() => null);
    if (bytes) return { bytes, encoding };
  }
  const bytes = await readFile(file).catch(() => null);
  return bytes && { bytes, encoding: null };
}

const isVersioned = ({ searchParams, pathname }) => searchParams.has("v") || pathname.startsWith("/chunks/");

async function answer(folder, request, response) {
  const url = request.url ?? "/";
  const file = resolve(folder, url);
  const accepted = String(request.headers["accept-encoding"] ?? "").split(",").map((part) => part.split(";")[0].trim());
  const found = file && (await find(file, accepted));
  if (!found) return response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
  const { bytes, encoding } = found;
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const headers = {
    ...HEADERS,
    etag,
    "cache-control": isVersioned(new URL(url, "http://localhost")) ? CACHE_VERSIONED : CACHE_OTHER,
    "content-type": MEDIA_TYPES[path.extname(file)] ?? "application/octet-stream",
    vary: "accept-encoding",
    ...(encoding && { "content-encoding": encoding }),
  };
  if (request.headers["if-none-match"] === etag) return response.writeHead(304, headers).end();
  return response.writeHead(200, { ...headers, "content-length": bytes.length }).end(request.method === "HEAD" ? undefined : bytes);
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
