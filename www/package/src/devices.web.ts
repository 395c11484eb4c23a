export { LitecastError } from "./errors.ts";
import { loader } from "./device_loader.ts";
import { web } from "./web.ts";

/** In browsers and bundlers. */
export const load = loader(web);
