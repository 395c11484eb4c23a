/** The package that npm packs, installed for one file of tests. */
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { install, read } from "./packed.mjs";

export const { installed, archive } = install();

/** What one of its files exports. */
export const entry = (name) => import(pathToFileURL(path.join(installed, name)));

export const { load, LitecastError } = await entry("index.node.js");

export const litecast = await load();

export const example = read("www/examples/cnn-kws-s7-i43.tflite");

/** Every failure is an error of this package. */
export const failsAs = (kind, message) => (error) => {
  assert.ok(error instanceof LitecastError && error instanceof Error, `${error}`);
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, message);
  return true;
};
