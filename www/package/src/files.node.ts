/** The package's file as it is before it is packed into a script. */
import { loadFiles } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

/** The module from the package's folder. */
export async function files(): Promise<Record<string, Uint8Array>> {
  const { wasm } = await loadFiles(undefined, server, shipped);
  return { "litecast.wasm": wasm as Uint8Array };
}
