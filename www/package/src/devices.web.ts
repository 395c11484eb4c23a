export { LitecastError } from "./errors.ts";
import { loader, probeReader } from "./device_loader.ts";
import { web } from "./web.ts";

/** In browsers and bundlers. */
export const load = loader(web);
export const probes = probeReader(web);
