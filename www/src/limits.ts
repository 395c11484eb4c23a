/** Limits on what is opened, each with its reason. */

/**
 * Largest file that is read. A file is held once by the page and once by the module, whose memory ends at 4 GiB;
 * FlatBuffers itself ends at 2 GiB.
 */
export const MAX_FILE_BYTES = 1024 ** 3;
