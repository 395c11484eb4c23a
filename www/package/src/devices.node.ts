export { LitecastError } from "./errors.ts";
import { loader } from "./device_loader.ts";
import { server } from "./server.ts";

/** In Node.js. */
export const load = loader(server);
