/** Files that were chosen, as far as they could be opened. */
import type { KnownError } from "./worker_messenger.ts";

/** A model as it is read: a file, or what is unpacked anew each time, so that nothing holds it meanwhile. */
export interface ModelFile {
  readonly name: string;
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A model, or why there is none. */
export type Model = ModelFile | { name: string; failure: KnownError };

/** Of the names of files that are models, and of no use in telling them apart. */
export const MODEL_ENDING = /\.(tflite|lite|onnx|param)$/i;
