/** Models in a zip archive. Loaded when the first archive is opened. */
import { BlobReader, type FileEntry, ZipReader, configure } from "@zip.js/zip.js/lib/zip-core-native.js";
import { MAX_MODELS, maxTotalBytes, maxUnpackedBytes } from "../limits.ts";
import * as format from "../format.ts";
import { KnownError } from "../worker_messenger.ts";
import { MODEL_ENDING } from "../model_files.ts";
import type { Failure, Listed } from "../protocol.ts";
import { damagedError, leftOutModels, tooLargeError } from "./refusals.ts";
import { Unpacked } from "./unpacked_bytes.ts";

/** Entries of an archive that are looked at. */
const MAX_ENTRIES = 100_000;
/** Of the archive's own list of entries, for which the library asks at once: 640 for each. */
const MAX_LIST_BYTES = 64 * 1024 ** 2;
/** Extra fields of all entries together: the library makes an object of every four bytes. */
const MAX_EXTRA_BYTES = 4 * 1024 ** 2;
/** Of a name as it is read: of a longer one the end, which tells what the file is. */
const MAX_READ_NAME = 1024;
/** What macOS adds beside each file that it packs: attributes, under the file's own name behind `._`. */
const APPLE_DOUBLE = /(^|\/)(__MACOSX\/|\._[^/]*$)/;
/** Of an entry before its bytes, without its name. */
const HEADER_BYTES = 30;

// The browser's own decompression; no worker of the library's, which the page's policy would have to allow.
configure({ useWebWorkers: false, useCompressionStream: true });

/** Reads no more at once than a list of entries may have, however long an archive says that it is. */
class BoundedReader extends BlobReader {
  override readUint8Array(at: number, n_bytes: number): Promise<Uint8Array> {
    if (n_bytes > MAX_LIST_BYTES) throw new KnownError("limit-exceeded", `expected a list of entries of at most ${MAX_LIST_BYTES} bytes, found ${n_bytes}`);
    return super.readUint8Array(at, n_bytes);
  }
}

/** The models in a ZIP archive; `unpack` takes the index of one. Rejects with a `KnownError`. */
export async function openZip(file: File): Promise<{ models: Listed[]; unpack(entry: number): Promise<ArrayBuffer> }> {
  // Names are shown, never written to a disk: a strange one is no reason to refuse the others.
  const reader = new ZipReader(new BoundedReader(file), { filenameValidation: "tolerant", decodeText });
  const contents: Contents = { models: [], n_models: 0, spans: [], n_files: 0, n_extra_bytes: 0, names: [], others: new Set() };
  const problem = await readEntries(reader, contents).then(() => null, (error: unknown) => (error instanceof KnownError ? error : damagedError("zip archive", error)));
  const { models, n_models } = contents;
  if (models.length === 0) throw problem ?? new KnownError("no-model", withoutModel(contents));
  refuseOverlap(contents.spans);
  const listed = withinBudget(models, file.size);
  const rest: Listed[] = problem ? [{ name: file.name, failure: { kind: problem.kind, message: problem.message } }] : [];
  return { models: [...listed, ...rest, ...leftOutModels(file.name, n_models - models.length, MAX_MODELS)], unpack: (entry) => unpack(models[entry]!) };
}

/** Undefined where the library decodes it: byte by byte, at thirty bytes each until somebody reads the text. */
function decodeText(bytes: Uint8Array, _encoding: string, type: "filename" | "comment"): string | undefined {
  if (type === "comment") return "";
  return bytes.length > MAX_READ_NAME ? new TextDecoder().decode(bytes.subarray(-MAX_READ_NAME)) : undefined;
}

/** What is kept of an archive: entries themselves take kilobytes each. */
interface Contents {
  /** The first of them. */
  models: FileEntry[];
  n_models: number;
  /** Where each entry begins, and where it ends at the earliest. */
  spans: [start: number, end: number][];
  n_files: number;
  n_extra_bytes: number;
  /** Of the first files. */
  names: string[];
  /** Which of `OTHERS` are in it. */
  others: Set<Other>;
}

/** What was read stays in `contents` where the archive is damaged behind it. */
async function readEntries(reader: ZipReader<Blob>, contents: Contents): Promise<void> {
  const { models, spans, names, others } = contents;
  for await (const entry of reader.getEntriesGenerator()) {
    if (spans.length === MAX_ENTRIES) throw new KnownError("limit-exceeded", `expected an archive of at most ${MAX_ENTRIES} entries, found more`);
    contents.n_extra_bytes += entry.rawExtraField.length;
    if (contents.n_extra_bytes > MAX_EXTRA_BYTES) throw new KnownError("limit-exceeded", `expected extra fields of at most ${MAX_EXTRA_BYTES} bytes in all entries together, found more`);
    // The library has read those that it knows.
    entry.extraField?.clear();
    spans.push([entry.offset, entry.offset + HEADER_BYTES + entry.compressedSize]);
    if (entry.directory || APPLE_DOUBLE.test(entry.filename)) continue;
    contents.n_files += 1;
    if (names.length < N_NAMED) names.push(entry.filename);
    for (const other of OTHERS) if (other.name.test(entry.filename)) others.add(other);
    if (!MODEL_ENDING.test(entry.filename)) continue;
    contents.n_models += 1;
    if (models.length < MAX_MODELS) models.push(entry);
  }
}

/** Entries that share bytes make an archive unpack to any length. */
function refuseOverlap(spans: [start: number, end: number][]): void {
  spans.sort(([a], [b]) => a - b);
  for (const [idx, [start]] of spans.entries()) {
    const before = spans[idx - 1];
    if (before && before[1] > start) throw new KnownError("malformed", `expected entries with bytes of their own, found one from byte ${before[0]} to byte ${before[1]} of the archive, and another from byte ${start}`);
  }
}

/** Refuses what is too large alone, and what is too much together with those before it. */
function withinBudget(models: readonly FileEntry[], archive_bytes: number): Listed[] {
  const max_bytes = maxTotalBytes(archive_bytes);
  let total = 0;
  return models.map((entry, idx): Listed => {
    const { encrypted, compressedSize, uncompressedSize: n_bytes } = entry;
    const name = baseName(entry);
    const failed = ({ kind, message }: Failure): Listed => ({ name, failure: { kind, message } });
    if (encrypted) return failed({ kind: "unreadable", message: "the archive needs a password" });
    const max_entry_bytes = maxUnpackedBytes(compressedSize);
    if (n_bytes > max_entry_bytes) return failed(tooLargeError(max_entry_bytes, n_bytes));
    if (total + n_bytes > max_bytes) {
      const [most, found] = [max_bytes, total].map((bytes) => format.text(format.bytes(bytes)));
      return failed({ kind: "limit-exceeded", message: `expected an archive that unpacks to at most ${most}; the entries before this one have ${found}, and it has ${format.text(format.bytes(n_bytes))}` });
    }
    total += n_bytes;
    return { name, entry: idx, n_bytes };
  });
}

async function unpack(entry: FileEntry): Promise<ArrayBuffer> {
  const unpacked = new Unpacked(entry.uncompressedSize);
  try {
    await entry.getData(unpacked.writable, { checkSignature: true, checkOverlappingEntry: true });
    return unpacked.whole();
  } catch (error) {
    throw new KnownError("unreadable", `it could not be unpacked (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** Longer names are cut. */
const MAX_NAME_LENGTH = 200;

/** Without folders; the end of a long one, which tells what the file is. */
function baseName({ filename }: FileEntry): string {
  return filename.slice(filename.lastIndexOf("/") + 1).slice(-MAX_NAME_LENGTH);
}

const CONVERT = ". Convert the model first: ";
/** What an archive without models is, as far as its names tell, and what to do with it. */
const OTHERS = [
  { name: /(^|\/)data\.pkl$/, words: `a PyTorch file${CONVERT}torch.onnx.export writes ONNX, litert-torch TensorFlow Lite` },
  { name: /(^|\/)saved_model\.pb$/, words: `a TensorFlow SavedModel${CONVERT}tf.lite.TFLiteConverter.from_saved_model` },
  { name: /(^|\/)model\.weights\.h5$/, words: `a Keras model${CONVERT}tf.lite.TFLiteConverter.from_keras_model` },
  { name: /\.npy$/, words: "arrays of NumPy: an archive of arrays holds no operators" },
];
type Other = (typeof OTHERS)[number];
/** Files that are named where none of them is a model. */
const N_NAMED = 3;

function withoutModel({ n_files, names, others }: Contents): string {
  const other = OTHERS.find((one) => others.has(one));
  if (other) return `expected a TensorFlow Lite or ONNX file, found ${other.words}`;
  const some = names.map((name) => name.slice(0, MAX_NAME_LENGTH)).join(", ");
  return `expected a .tflite or .onnx file in the archive, found ${format.plural(n_files, "file")} without one${some && ` (${some}${n_files > N_NAMED ? ", …" : ""})`}`;
}
