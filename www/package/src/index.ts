export { LitecastError } from "./errors.ts";
import { loader } from "./load.ts";
import { shipped } from "./shipped.ts";
import { web } from "./web.ts";

/** In browsers and bundlers. */
export const load = loader(web, shipped);
