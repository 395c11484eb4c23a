/** The package's own files, as chunks that every bundler knows how to load later. */
import type { Shipped } from "./load.ts";

/** The files of the package beside its scripts. */
export const shipped: Shipped = {
  wasm: () => import("./assets/wasm.js"),
};
