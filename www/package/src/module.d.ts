export * from "../../../target/module/litecast.js";
export { default } from "../../../target/module/litecast.js";
