/** Written by build.mjs. */
declare module "*/assets/wasm.js" {
  const text: string;
  export default text;
}
declare module "*/assets/devices.js" {
  const text: string;
  export default text;
}
declare module "*/assets/probes.js" {
  const text: string;
  export default text;
}
declare module "*/assets/worker.js" {
  const text: string;
  export default text;
}
declare module "*/assets/brotli.js" {
  export function decompress(bytes: Uint8Array): Uint8Array;
}
