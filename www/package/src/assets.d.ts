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
declare module "*/assets/predictor.js" {
  export const id: string;
  export const network: string;
  export const manifest: string;
}
