/** What the page and the npm package make of the trained bundle, so that it compresses better. */

/** Even bytes first: numbers of two bytes compress better by halves. `interleaved` of the package puts them back. */
export function planes(bytes) {
  const of = (parity) => bytes.filter((_, idx) => idx % 2 === parity);
  return Buffer.concat([of(0), of(1)]);
}
