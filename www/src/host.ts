/** The processor beside an accelerator, remembered in this browser; each accelerator has a usual one besides. */
const KEY = "litecast.host";

/** Its id; null for the usual ones. */
export function readHost(): string | null {
  try {
    return localStorage.getItem(KEY) || null;
  } catch {
    return null;
  }
}

/** Keeps the processor for the next visit; null for the usual ones. */
export function writeHost(id: string | null): void {
  try {
    localStorage.setItem(KEY, id ?? "");
  } catch {
    // A browser that keeps nothing takes the usual one again.
  }
}
