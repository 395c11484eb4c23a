export { LitecastError } from "./errors.ts";
import { loader, probeReader } from "./device_loader.ts";
import { server } from "./server.ts";

/** In Node.js. */
export const load = loader(server);
export const probes = probeReader(server);
