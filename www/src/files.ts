/**
 * What was dropped, as models: TFLite and ONNX files as they are, and what archives and C arrays hold. What is another format is
 * refused with its name and what to do.
 */
import { MAX_FILE_BYTES } from "./limits.ts";
import * as format from "./format.ts";
import { KnownError } from "./messenger.ts";
import type { Model } from "./opened.ts";

/** Bytes from which a format is told. */
const HEAD_BYTES = 4096;
/** C sources are read whole, as text: 16 times the 4 MB that microcontrollers hold. */
const MAX_C_SOURCE_BYTES = 64 * 1024 ** 2;

/** One or more models for each file. */
export async function openModels(files: File[], signal: AbortSignal): Promise<Model[]> {
  const models: Model[] = [];
  for (const file of files) {
    if (signal.aborted) break;
    models.push(...(await modelsIn(file).catch((error: unknown): Model[] => [{ name: file.name, failure: asKnown(error) }])));
  }
  return models;
}

function asKnown(error: unknown): KnownError {
  return error instanceof KnownError ? error : new KnownError("unreadable", `the browser could not read it (${String(error)}); is it a folder?`);
}

async function modelsIn(file: File): Promise<Model[]> {
  const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  if (asciiAt(head, 4, 4) === "TFL3" || file.size > MAX_FILE_BYTES) return [file];
  if (asciiAt(head, 0, 4) === "PK\x03\x04") return modelsInZip(file);
  if (head[0] === 0x1f && head[1] === 0x8b) return [await unzipped(file)];
  const other = otherFormat(file.name, head, file.size);
  if (other) throw new KnownError("other-format", other);
  if (/\.(cc|c|h|cpp|hpp|inc)$/i.test(file.name)) return modelsInSource(file);
  return [file]; // the reader says what it expected
}

/** `.tflite.gz`, as some publish them. */
async function unzipped(file: File): Promise<File> {
  const stream = file.stream().pipeThrough(new DecompressionStream("gzip"));
  return new File([await boundedBytes(stream)], file.name.replace(/\.gz$/i, ""));
}

/** Stops reading what unpacks to more than a file may have. */
async function boundedBytes(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let n_bytes = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    n_bytes += value.byteLength;
    if (n_bytes > MAX_FILE_BYTES) {
      await reader.cancel();
      throw new KnownError("too-large", `expected at most ${MAX_FILE_BYTES} bytes when unpacked, found more`);
    }
  }
}

async function modelsInZip(file: File): Promise<Model[]> {
  const { modelsOfZip } = await import("./zip.ts");
  return modelsOfZip(file);
}

/** Byte arrays of a C source that hold a TFLite file, as `xxd -i` and TFLM's generator write them. */
async function modelsInSource(file: File): Promise<Model[]> {
  if (file.size > MAX_C_SOURCE_BYTES) {
    throw new KnownError("too-large", `expected a C source of at most ${format.text(format.bytes(MAX_C_SOURCE_BYTES))}, found ${format.text(format.bytes(file.size))}`);
  }
  const source = await file.text();
  const models: File[] = [];
  let n_arrays = 0;
  for (const match of source.matchAll(/(\w+)\s*\[[^\]]*\][^=;{}]*=\s*\{/g)) {
    const start = match.index + match[0].length;
    const end = source.indexOf("}", start);
    if (end < 0) break;
    n_arrays += 1;
    const bytes = bytesOfInitialiser(source, start, end);
    if (bytes && asciiAt(bytes, 4, 4) === "TFL3") models.push(new File([bytes], `${match[1]}.tflite`));
  }
  if (models.length > 0) return models;
  throw new KnownError("no-model", `expected an array with the bytes of a TFLite file, found ${format.plural(n_arrays, "array")} without TFL3 at bytes 4 to 7`);
}

/** Null where an entry is no number from 0 to 255. */
function bytesOfInitialiser(source: string, start: number, end: number): Uint8Array<ArrayBuffer> | null {
  const text = source.slice(start, end).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
  const bytes = new Uint8Array(Math.floor(text.length / 2) + 1);
  let n = 0;
  for (const [word] of text.matchAll(/[^\s,]+/g)) {
    const value = Number(word.replace(/[uUlL]+$/, ""));
    if (!Number.isInteger(value) || value < -128 || value > 255) return null;
    bytes[n++] = value;
  }
  return bytes.slice(0, n);
}

const CONVERT = "Convert the model first";
const FROM_PYTORCH = "torch.onnx.export writes ONNX, litert-torch TensorFlow Lite";

/** What a file is that has no bytes of a TFLite file; null where nothing tells. */
function otherFormat(name: string, head: Uint8Array, n_bytes: number): string | null {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const found = (what: string, advice: string): string => `expected a TensorFlow Lite or ONNX file, found ${what}. ${advice}`;
  if (asciiAt(head, 0, 8) === "\x89HDF\r\n\x1a\n") return found("an HDF5 file, as Keras saves weights and models", `${CONVERT}: tf.lite.TFLiteConverter.from_keras_model`);
  if (asciiAt(head, 0, 4) === "GGUF") return found("a GGUF file of llama.cpp", "It holds weights without a graph that TensorFlow Lite could run");
  if (asciiAt(head, 4, 4) === "ET12" || extension === "pte") return found("an ExecuTorch program", `Export the same model to another format: ${FROM_PYTORCH}`);
  if (isSafetensors(head, n_bytes)) return found("a safetensors file", "It holds weights alone, without the operators; convert the model that uses them");
  if (head[0] === 0x80 && (head[1] ?? 9) <= 5 && ["pt", "pth", "pkl", "bin"].includes(extension)) return found("a Python pickle, as old versions of PyTorch save models", `${CONVERT}: ${FROM_PYTORCH}`);
  if (extension === "pb") return found("a TensorFlow graph or SavedModel in protocol buffers", `${CONVERT}: tf.lite.TFLiteConverter.from_saved_model, with the folder that holds saved_model.pb`);
  if (extension === "csv") return found("a table", "Drop measurements on Your devices, below a report");
  if (extension === "onnx" || extension === "mlmodel" || extension === "tosa") return null; // the reader knows best
  return null;
}

/** Length of the head as a 64-bit number, then JSON. */
function isSafetensors(head: Uint8Array, n_bytes: number): boolean {
  if (head.length < 10) return false;
  const length = new DataView(head.buffer, head.byteOffset).getBigUint64(0, true);
  return length > 1n && length <= BigInt(n_bytes - 8) && head[8] === 0x7b;
}

function asciiAt(bytes: Uint8Array, start: number, n: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + n));
}
