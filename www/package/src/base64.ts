/** Files inside scripts are text. */
interface Base64 {
  fromBase64?(text: string): Uint8Array;
}

/** Bytes of a text in base64. */
export function fromBase64(text: string): Uint8Array {
  const { fromBase64 } = Uint8Array as Base64;
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  const { Buffer } = globalThis as { Buffer?: { from(text: string, encoding: "base64"): Uint8Array } };
  if (Buffer) return Buffer.from(text, "base64");
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let idx = 0; idx < letters.length; idx++) bytes[idx] = letters.charCodeAt(idx);
  return bytes;
}
