/** As the main entry, with everything in the script. */
export { LitecastError } from "./errors.ts";
import * as wasm from "./assets/wasm.js";
import { decompress } from "./assets/brotli.js";
import { loader } from "./load.ts";
import { web } from "./web.ts";

/** With the module inside the script, for places that load no files. */
export const load = loader({ ...web, decompress: async (bytes) => decompress(bytes) }, { wasm: async () => wasm });
