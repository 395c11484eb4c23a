export { LitecastError } from "./errors.ts";
import { loader } from "./load.ts";
import { server } from "./server.ts";
import { shipped } from "./shipped.ts";

export const load = loader(server, shipped);
