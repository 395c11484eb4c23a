/** What wasm-bindgen writes for src/wasm.rs: see tools/build-wasm.sh. */
export * from "../../../target/module/litecast.js";
export { default } from "../../../target/module/litecast.js";
