/** What wasm-bindgen writes for src/wasm_profiles.rs: see tools/build-wasm.sh. */
export * from "../../../target/module/devices.js";
export { default } from "../../../target/module/devices.js";
