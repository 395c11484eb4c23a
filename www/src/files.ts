/**
 * What was dropped, as models: TFLite and ONNX files as they are, and what archives and C arrays hold. What is another format is
 * refused with its name and what to do.
 */
import { Container } from "./model_archive.ts";
import { MAX_FILE_BYTES, MAX_MODELS } from "./limits.ts";
import { KnownError } from "./worker_messenger.ts";
import type { Model } from "./model_files.ts";
import type { Packing } from "./protocol.ts";

/** Bytes from which a format is told. */
const HEAD_BYTES = 4096;
/** Rows of a comparison, which nobody reads to the end of. */
const MAX_OPENED = 2 * MAX_MODELS;

/** One or more models for each file. `progress` is told of files that take long, with the part of them that is read. */
export async function openModels(files: File[], signal: AbortSignal, progress: (name: string, done: number) => void): Promise<Model[]> {
  const models: Model[] = [];
  for (const file of files) {
    if (signal.aborted) break;
    const inside = await modelsIn(file, signal, (done) => progress(file.name, done)).catch((error: unknown): Model[] => [{ name: file.name, failure: asKnown(error) }]);
    const n_left_out = models.length + inside.length - MAX_OPENED;
    models.push(...inside.slice(0, MAX_OPENED - models.length));
    if (n_left_out <= 0) continue;
    models.push({ name: file.name, failure: new KnownError("limit-exceeded", `expected at most ${MAX_OPENED} models at a time, found ${n_left_out} more in this file; the files after it were left out`) });
    break;
  }
  return models;
}

function asKnown(error: unknown): KnownError {
  return error instanceof KnownError ? error : new KnownError("unreadable", `the browser could not read it (${String(error)}); is it a folder?`);
}

async function modelsIn(file: File, signal: AbortSignal, progress: (done: number) => void): Promise<Model[]> {
  const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  if (asciiAt(head, 4, 4) === "TFL3" || file.size > MAX_FILE_BYTES) return [file];
  const other = otherFormat(file.name, head, file.size);
  const packing = packingOf(file.name, head);
  if (packing !== null && (packing !== "c-source" || !other)) return new Container(file, packing).models(signal, progress);
  if (other) throw new KnownError("other-format", other);
  return [file]; // the reader says what it expected
}

function packingOf(name: string, head: Uint8Array): Packing | null {
  // The second is the end of an archive, with which one without entries begins.
  if (["PK\x03\x04", "PK\x05\x06"].includes(asciiAt(head, 0, 4))) return "zip";
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  return /\.(cc|c|h|cpp|hpp|inc)$/i.test(name) ? "c-source" : null;
}

const CONVERT = "Convert the model first";
const FROM_PYTORCH = "torch.onnx.export writes ONNX, litert-torch TensorFlow Lite";

/** What a file is that has no bytes of a TFLite file; null where nothing tells. */
function otherFormat(name: string, head: Uint8Array, n_bytes: number): string | null {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const foundWords = (what: string, advice: string): string => `expected a TensorFlow Lite, ONNX or ncnn file, found ${what}. ${advice}`;
  if (asciiAt(head, 0, 8) === "\x89HDF\r\n\x1a\n") return foundWords("an HDF5 file, as Keras saves weights and models", `${CONVERT}: tf.lite.TFLiteConverter.from_keras_model`);
  if (asciiAt(head, 0, 4) === "GGUF") return foundWords("a GGUF file of llama.cpp", "It holds weights without a graph that TensorFlow Lite could run");
  if (asciiAt(head, 4, 4) === "ET12" || extension === "pte") return foundWords("an ExecuTorch program", `Export the same model to another format: ${FROM_PYTORCH}`);
  if (isSafetensors(head, n_bytes)) return foundWords("a safetensors file", "It holds weights alone, without the operators; convert the model that uses them");
  if (head[0] === 0x80 && (head[1] ?? 9) <= 5 && ["pt", "pth", "pkl", "bin"].includes(extension)) return foundWords("a Python pickle, as old versions of PyTorch save models", `${CONVERT}: ${FROM_PYTORCH}`);
  if (extension === "pb") return foundWords("a TensorFlow graph or SavedModel in protocol buffers", `${CONVERT}: tf.lite.TFLiteConverter.from_saved_model, with the folder that holds saved_model.pb`);
  if (extension === "csv") return foundWords("a table", "Drop measurements, and what benchmark tools print, on the report of their file");
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
