/** The package's files as they are before they are packed into scripts. */
import { loadFiles } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

/** Module, predictor and manifest from the package's folder. */
export async function files(): Promise<Record<string, Uint8Array | string>> {
  const { wasm, predictor } = await loadFiles(undefined, server, shipped);
  return { "litecast.wasm": wasm as Uint8Array, "predictor.onnx": predictor!.network, "manifest.json": predictor!.manifest };
}
