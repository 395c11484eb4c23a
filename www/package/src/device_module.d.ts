export * from "../../../target/module/devices.js";
export { default } from "../../../target/module/devices.js";
