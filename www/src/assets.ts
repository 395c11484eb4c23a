/** What the estimator needs from the page's own origin, loaded once for all of its workers. */
import { KnownError } from "./worker_messenger.ts";
import type { LoadedGroup } from "./targets.ts";

const WASM_MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** Addresses of the files that the page loads when they are first needed. */
export interface AssetUrls {
  wasm: string;
  /** The module that makes devices from profiles, fetched when somebody has one. */
  devices: string;
  /** Constants of groups of targets, fetched when one of them is asked for. */
  constants: Record<LoadedGroup, string>;
}

async function fetchAsset(url: string): Promise<Response> {
  const response = await fetch(url).catch((error: unknown) => {
    throw new KnownError("asset", `${url}: expected a file, but the request failed (${String(error)})`);
  });
  if (!response.ok) throw new KnownError("asset", `${url}: expected a file, found HTTP status ${response.status}`);
  return response;
}

/** Contents of a file beside the page; throws where the server does not have it. */
export async function fetchBytes(url: string): Promise<ArrayBuffer> {
  return (await fetchAsset(url)).arrayBuffer();
}

/**
 * The compiled module at `url`. It streams where the server names the right media type, so that the browser can keep
 * the compiled code between visits; otherwise the first four bytes are checked before anything else.
 */
export async function fetchModule(url: string): Promise<WebAssembly.Module> {
  const response = await fetchAsset(url);
  const media_type = (response.headers.get("content-type") ?? "none").split(";")[0];
  if (media_type === "application/wasm") {
    return WebAssembly.compileStreaming(response).catch(async (error: unknown) => {
      // Asked for once more: a copy of the response would be kept for every page whose module compiles.
      checkMagic(url, media_type, new Uint8Array(await fetchBytes(url)));
      throw new KnownError("asset", `${url}: ${String(error)}`);
    });
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  checkMagic(url, media_type, bytes);
  return WebAssembly.compile(bytes);
}

function checkMagic(url: string, media_type: string, bytes: Uint8Array): void {
  if (WASM_MAGIC.every((byte, i) => bytes[i] === byte)) return;
  const first_bytes = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw new KnownError(
    "asset",
    `${url}: expected a WebAssembly module (00 61 73 6d), found ${first_bytes || "nothing"} (media type ${media_type})`,
  );
}
