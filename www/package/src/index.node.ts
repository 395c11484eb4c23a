export { LitecastError } from "./errors.ts";
import { loader } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

/** In Node.js. */
export const load = loader(server, shipped);
