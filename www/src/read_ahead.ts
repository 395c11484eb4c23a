/** Files that are read before anybody knows what they are: a browser takes several ms to answer for each read of a file. */

/** Larger files are told apart by their first bytes, and read only if they are models. */
const MAX_BYTES = 16 * 1024 ** 2;

const started = new WeakMap<File, Promise<ArrayBuffer>>();

/** Starts to read a file. */
export function readAhead(file: File): void {
  if (file.size > MAX_BYTES) return;
  const bytes = file.arrayBuffer();
  bytes.catch(() => undefined); // whoever takes them is told
  started.set(file, bytes);
}

/** The first bytes: of a file that was read ahead without asking for them once more. */
export async function headOf(file: File, n_bytes: number): Promise<Uint8Array> {
  const bytes = (await started.get(file)) ?? (await file.slice(0, n_bytes).arrayBuffer());
  return new Uint8Array(bytes, 0, Math.min(n_bytes, bytes.byteLength));
}

/** All bytes. Those that were read ahead are handed out once: who gets them may transfer them. */
export function readAll(file: File): Promise<ArrayBuffer> {
  const bytes = started.get(file);
  started.delete(file);
  return bytes ?? file.arrayBuffer();
}
