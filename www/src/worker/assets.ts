/** Loading what the worker needs from the page's own origin, with errors that name the address. */

const WASM_MAGIC = [0x00, 0x61, 0x73, 0x6d];

export class AssetError extends Error {
  readonly kind = "asset";
}

export async function fetchAsset(url: string): Promise<Response> {
  const response = await fetch(url).catch((error: unknown) => {
    throw new AssetError(`${url}: expected a file, but the request failed (${String(error)})`);
  });
  if (!response.ok) throw new AssetError(`${url}: expected a file, found HTTP status ${response.status}`);
  return response;
}

export async function fetchBytes(url: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await (await fetchAsset(url)).arrayBuffer());
}

/**
 * The compiled module at `url`. It streams where the server names the right media type, so that the browser can keep
 * the compiled code between visits; otherwise the first four bytes are checked before anything else.
 */
export async function fetchModule(url: string): Promise<WebAssembly.Module> {
  const response = await fetchAsset(url);
  const media_type = (response.headers.get("content-type") ?? "none").split(";")[0];
  if (media_type === "application/wasm") {
    const copy = response.clone();
    return WebAssembly.compileStreaming(response).catch(async (error: unknown) => {
      checkMagic(url, media_type, new Uint8Array(await copy.arrayBuffer()));
      throw new AssetError(`${url}: ${String(error)}`);
    });
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  checkMagic(url, media_type, bytes);
  return WebAssembly.compile(bytes);
}

function checkMagic(url: string, media_type: string, bytes: Uint8Array): void {
  if (WASM_MAGIC.every((byte, i) => bytes[i] === byte)) return;
  const found = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw new AssetError(
    `${url}: expected a WebAssembly module (00 61 73 6d), found ${found || "nothing"} (media type ${media_type})`,
  );
}
