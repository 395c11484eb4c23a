/** The worker that opens one file with models inside: an archive, a compressed file or a C source. */
import { CArrayReader } from "../c_arrays.ts";
import { maxUnpackedBytes } from "../limits.ts";
import * as format from "../format.ts";
import { KnownError } from "../worker_messenger.ts";
import type { Listed, OpenCall } from "../protocol.ts";
import { answerRequests } from "./request_queue.ts";
import { damagedError, leftOutModels, tooLargeError } from "./refusals.ts";
import { Unpacked } from "./unpacked_bytes.ts";

/** C sources are read in pieces of this length. */
const PIECE_BYTES = 1024 ** 2;
/** Sixteen times the 4 MB that microcontrollers hold. */
const MAX_C_SOURCE_BYTES = 64 * 1024 ** 2;
/** Models in a C source: a firmware has a handful. */
const MAX_ARRAYS = 64;

/** The models of a file, each unpacked when it is asked for. */
interface Opened {
  models: Listed[];
  unpack(entry: number): Promise<ArrayBuffer>;
}

let opened: Promise<Opened> | null = null;

async function open({ file, packing }: OpenCall, progress: (done: number) => void): Promise<Opened> {
  if (packing === "zip") return (await import("./zip.ts")).openZip(file);
  if (packing === "gzip") return openGzip(file);
  const models = modelsInSource(file, progress);
  return { models, unpack: () => Promise.reject(new Error("a C source has nothing to unpack")) };
}

/** `.tflite.gz`, as some publish them. The last four bytes are the length of what was packed. */
async function openGzip(file: File): Promise<Opened> {
  const tail = new DataView(await file.slice(-4).arrayBuffer());
  const n_bytes = tail.byteLength === 4 ? tail.getUint32(0, true) : 0;
  const max_bytes = maxUnpackedBytes(file.size);
  if (n_bytes > max_bytes) throw tooLargeError(max_bytes, n_bytes);
  const unpack = async (): Promise<ArrayBuffer> => {
    const unpacked = new Unpacked(n_bytes);
    try {
      await file.stream().pipeThrough(new DecompressionStream("gzip")).pipeTo(unpacked.writable);
    } catch (error) {
      throw damagedError("gzip file", error);
    }
    return unpacked.whole();
  };
  return { models: [{ name: file.name.replace(/\.gz$/i, ""), entry: 0, n_bytes }], unpack };
}

function modelsInSource(file: File, progress: (done: number) => void): Listed[] {
  if (file.size > MAX_C_SOURCE_BYTES) {
    throw new KnownError("too-large", `expected a C source of at most ${format.text(format.bytes(MAX_C_SOURCE_BYTES))}, found ${format.text(format.bytes(file.size))}`);
  }
  const arrays = new CArrayReader(MAX_ARRAYS);
  const reader = new FileReaderSync();
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    progress(at / file.size);
    arrays.push(new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + PIECE_BYTES))));
  }
  arrays.end();
  if (arrays.models.length === 0) {
    throw new KnownError("no-model", `expected an array with the bytes of a TFLite file, found ${format.plural(arrays.n_arrays, "array")} without TFL3 at bytes 4 to 7`);
  }
  const models = arrays.models.map(({ name, bytes, problem }): Listed => {
    const full_name = `${name || "array"}.tflite`;
    return bytes ? { name: full_name, file: new File([bytes], full_name) } : { name: full_name, failure: { kind: "no-model", message: problem } };
  });
  return [...models, ...leftOutModels(file.name, arrays.n_left_out, MAX_ARRAYS)];
}

async function answer(call: OpenCall, progress: (done: number) => void): Promise<Listed[] | ArrayBuffer> {
  opened ??= open(call, progress);
  const { models, unpack } = await opened;
  return call.kind === "list" ? models : unpack(call.entry);
}

answerRequests<OpenCall, Listed[] | ArrayBuffer>(answer, (value) => (value instanceof ArrayBuffer ? [value] : []));
