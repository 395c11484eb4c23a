/** Files that were chosen, as far as they could be opened. */
import type { KnownError } from "./messenger.ts";

export type Model = File | { name: string; failure: KnownError };

/** Of the names of files that are models, and of no use in telling them apart. */
export const MODEL_ENDING = /\.(tflite|lite|onnx)$/i;
