/** Limits on what is opened, each with its reason. */

/**
 * Largest file that is read. A file is held once by the page and once by the module, whose memory ends at 4 GiB;
 * FlatBuffers itself ends at 2 GiB.
 */
export const MAX_FILE_BYTES = 1024 ** 3;

/** Models that are opened out of one archive. */
export const MAX_MODELS = 1000;
/** What any packed model may unpack to, also where all weights are zero: eight times the flash of microcontrollers. */
const SMALL_BYTES = 32 * 1024 ** 2;
/** What an archive may unpack to together, one model after the other. */
const SMALL_TOTAL_BYTES = 512 * 1024 ** 2;
/** Weights become a half or a third, pruned ones a tenth; what was made to become long becomes a thousandth. */
const MAX_RATIO = 12;

/** Bytes that a model may have which takes so many when packed. */
export function maxUnpackedBytes(packed_bytes: number): number {
  return Math.min(MAX_FILE_BYTES, SMALL_BYTES + MAX_RATIO * packed_bytes);
}

/** Bytes that the models of an archive may have together. */
export function maxTotalBytes(archive_bytes: number): number {
  return SMALL_TOTAL_BYTES + MAX_RATIO * archive_bytes;
}
