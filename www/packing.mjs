/** What the page and the npm package make of the trained bundle when they are built. */
import { createHash } from "node:crypto";

/** Even bytes first: numbers of two bytes compress better by halves. `interleaved` of the package puts them back. */
export function planes(bytes) {
  const of = (parity) => bytes.filter((_, idx) => idx % 2 === parity);
  return Buffer.concat([of(0), of(1)]);
}

/** As `Predictor::id` of the library: 16 hexadecimal digits of a SHA-256 over network and manifest. */
export function bundleId(network, manifest) {
  return createHash("sha256").update(network).update(manifest).digest("hex").slice(0, 16);
}
