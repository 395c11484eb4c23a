/** Models in an archive. Loaded when the first archive is opened. */
import { BlobReader, BlobWriter, type FileEntry, ZipReader, configure } from "@zip.js/zip.js/lib/zip-core-native.js";
import { MAX_FILE_BYTES } from "./limits.ts";
import { MODEL_ENDING, type Model } from "./opened.ts";
import * as format from "./format.ts";
import { KnownError } from "./messenger.ts";

/** Entries of an archive that are looked at. */
const MAX_ENTRIES = 100_000;
/** Models that are opened out of one archive. */
const MAX_MODELS = 1000;

// The browser's own decompression; no worker of the library's, which the page's policy would have to allow.
configure({ useWebWorkers: false, useCompressionStream: true });

export async function modelsOfZip(file: File): Promise<Model[]> {
  const reader = new ZipReader(new BlobReader(file));
  try {
    const entries: FileEntry[] = [];
    let n_entries = 0;
    for await (const entry of reader.getEntriesGenerator()) {
      n_entries += 1;
      if (n_entries > MAX_ENTRIES) throw new KnownError("limit-exceeded", `expected an archive of at most ${MAX_ENTRIES} entries, found more`);
      if (!entry.directory) entries.push(entry);
    }
    const models = entries.filter(({ filename }) => MODEL_ENDING.test(filename)).slice(0, MAX_MODELS);
    if (models.length === 0) throw new KnownError("no-model", withoutModel(entries));
    const opened: Model[] = [];
    for (const entry of models) opened.push(await modelOf(entry));
    return opened;
  } catch (error) {
    if (error instanceof KnownError) throw error;
    throw new KnownError("unreadable", `expected a zip archive, found a damaged one (${error instanceof Error ? error.message : String(error)})`);
  } finally {
    await reader.close();
  }
}

/** Sizes are checked before and while unpacking: an archive may say less than it holds. */
async function modelOf(entry: FileEntry): Promise<Model> {
  const name = entry.filename.slice(entry.filename.lastIndexOf("/") + 1);
  const failed = (kind: string, message: string): Model => ({ name, failure: new KnownError(kind, message) });
  if (entry.encrypted) return failed("unreadable", "the archive needs a password");
  if (entry.uncompressedSize > MAX_FILE_BYTES) return failed("too-large", `expected at most ${MAX_FILE_BYTES} bytes, found ${entry.uncompressedSize}`);
  const stopper = new AbortController();
  try {
    const onprogress = async (done: number): Promise<void> => {
      if (done > MAX_FILE_BYTES) stopper.abort();
    };
    return new File([await entry.getData(new BlobWriter(), { checkSignature: true, signal: stopper.signal, onprogress })], name);
  } catch (error) {
    return failed("unreadable", `it could not be unpacked (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** What the archive is, as far as its names tell. */
function withoutModel(entries: FileEntry[]): string {
  const names = entries.map(({ filename }) => filename);
  const has = (test: RegExp): boolean => names.some((name) => test.test(name));
  const advice = (what: string, how: string): string => `expected a TensorFlow Lite or ONNX file, found ${what}. Convert the model first: ${how}`;
  if (has(/(^|\/)data\.pkl$/)) return advice("a PyTorch file", "torch.onnx.export writes ONNX, litert-torch TensorFlow Lite");
  if (has(/(^|\/)saved_model\.pb$/)) return advice("a TensorFlow SavedModel", "tf.lite.TFLiteConverter.from_saved_model");
  if (has(/(^|\/)model\.weights\.h5$/)) return advice("a Keras model", "tf.lite.TFLiteConverter.from_keras_model");
  if (has(/\.npy$/)) return advice("arrays of NumPy", "an archive of arrays holds no operators");
  const some = names.slice(0, 3).join(", ");
  return `expected a .tflite or .onnx file in the archive, found ${format.plural(names.length, "file")} without one${some && ` (${some}${names.length > 3 ? ", …" : ""})`}`;
}
