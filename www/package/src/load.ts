/** `load()`, on any platform. */
import type { FileSource, LoadOptions, PredictorSource } from "../types/index.d.ts";
import { isBytes, jsonText, optionsOf, plainObject, tag } from "./arguments.ts";
import { fromBase64 } from "./base64.ts";
import { fromModule, inWords, LitecastError, reading, readingLater, wrongArgument } from "./errors.ts";
import { LiteCast, type PredictorFiles } from "./litecast.ts";
import init, * as module from "./module.js";
import { bytesFrom, MANIFEST, NETWORK, type Platform, resolved, WASM } from "./sources.ts";

/** What the package carries of itself, compressed: see `build.mjs`. */
export interface Shipped {
  wasm(): Promise<{ default: string }>;
}

/** Loads the module, and a predictor that is given, and starts the estimator. */
export type Load = (options?: LoadOptions) => Promise<LiteCast>;

/** What `load()` starts from, and what a worker is started with. */
export interface Loaded {
  wasm: Uint8Array | WebAssembly.Module;
  predictor: PredictorFiles | null;
}

/** The module is instantiated once: its memory is shared by every estimator of this thread. */
let instantiated: Promise<WebAssembly.Memory> | null = null;

/** The `load` of a platform. */
export function loader(platform: Platform, shipped: Shipped): Load {
  return async (options) => {
    const { wasm, predictor } = checkOptions(options);
    const files = predictorFiles(predictor, platform);
    files.catch(() => undefined); // awaited below
    instantiated ??= module_(wasm, platform, shipped).then(instantiate);
    try {
      return new LiteCast(module, await instantiated, await files, platform.sha256);
    } catch (error) {
      if (!(await isFulfilled(instantiated))) instantiated = null;
      throw error;
    }
  };
}

/** The files alone, for a worker that instantiates them. */
export async function loadFiles(options: LoadOptions | undefined, platform: Platform, shipped: Shipped): Promise<Loaded> {
  const { wasm, predictor } = checkOptions(options);
  const [loaded, files] = await Promise.all([module_(wasm, platform, shipped), predictorFiles(predictor, platform)]);
  return { wasm: loaded, predictor: files };
}

/** An estimator over loaded files; throws a `LitecastError` if they do not fit. */
export async function start({ wasm, predictor }: Loaded): Promise<LiteCast> {
  return new LiteCast(module, await instantiate(wasm), predictor);
}

const isFulfilled = (promise: Promise<unknown>): Promise<boolean> => promise.then(() => true, () => false);

const checkOptions = (options: unknown): LoadOptions => optionsOf(options, ["wasm", "predictor"], "load()") as LoadOptions;

/**
 * On the thread of a page, browsers may refuse to instantiate a module at once. `init` does not, and asks whether it was
 * given a `Response`: in Node.js that question alone loads the HTTP client, which takes longer than the rest of `load()`.
 */
const HAS_PAGE = "document" in globalThis;

async function instantiate(wasm: Uint8Array | WebAssembly.Module): Promise<WebAssembly.Memory> {
  try {
    if (HAS_PAGE) return (await init({ module_or_path: wasm })).memory;
    const compiled = tag(wasm) === "WebAssembly.Module" ? (wasm as WebAssembly.Module) : await WebAssembly.compile(wasm as BufferSource);
    return module.initSync({ module: compiled }).memory;
  } catch (error) {
    if (error instanceof Error && tag(error) === "Error" && error.name === "CompileError") {
      const policy = "a content security policy needs script-src 'wasm-unsafe-eval'";
      throw new LitecastError("wasm", `the WebAssembly module could not be compiled (${error.message}); ${policy}`, error);
    }
    if (error instanceof Error && error.name === "LinkError") {
      throw new LitecastError("wasm", `the WebAssembly module is of another version of litecast than its script (${error.message})`, error);
    }
    throw fromModule(error);
  }
}

async function module_(source: LoadOptions["wasm"], platform: Platform, shipped: Shipped): Promise<Uint8Array | WebAssembly.Module> {
  if (source === undefined) return platform.decompress(fromBase64((await shipped.wasm()).default));
  const given = await resolved(source, WASM);
  if (reading(WASM.option, () => tag(given)) === "WebAssembly.Module") return given as WebAssembly.Module;
  return bytesFrom(given as FileSource, WASM, platform);
}

/** Those of a caller: no target of this version asks one, so the package has none. */
async function predictorFiles(source: LoadOptions["predictor"], platform: Platform): Promise<PredictorFiles | null> {
  if (source === null || source === undefined) return null;
  const { network, manifest } = reading("predictor", () => {
    const given = plainObject(source, "predictor");
    const { network, manifest } = given as unknown as PredictorSource;
    if (network !== undefined && manifest !== undefined) return { network, manifest };
    throw wrongArgument(`predictor: expected { network, manifest }, found an object with ${Object.keys(given).join(", ") || "nothing"}`);
  });
  const [bytes, words] = await Promise.all([bytesFrom(network, NETWORK, platform), manifestText(manifest, platform)]);
  return { network: bytes, manifest: words };
}

/** A hundred times that of the shipped predictor. */
const MAX_MANIFEST_LENGTH = 2 ** 22;

/** As JSON: given as a parsed object, as text, or as a file. */
const manifestText = (given: PredictorSource["manifest"], platform: Platform): Promise<string> => readingLater(MANIFEST.option, () => readManifest(given, platform));

async function readManifest(given: PredictorSource["manifest"], platform: Platform): Promise<string> {
  const manifest = await resolved(given, MANIFEST);
  if (typeof manifest === "string" && manifest.trimStart().startsWith("{")) return manifest;
  const is_parsed = tag(manifest) === "Object" && !isBytes(manifest) && typeof (manifest as { arrayBuffer?: unknown }).arrayBuffer !== "function";
  if (is_parsed) return jsonText(manifest as object, MANIFEST.option, "manifest", MAX_MANIFEST_LENGTH);
  if (Array.isArray(manifest)) throw wrongArgument(`${MANIFEST.option}: expected a manifest, found ${inWords(manifest)}`);
  return new TextDecoder().decode(await bytesFrom(manifest as FileSource, MANIFEST, platform));
}
