/** Memory that a person's own application keeps on a microcontroller, remembered in this browser. */
import type { Application } from "./report.ts";

const KEY = "litecast.application";

/** What was kept last; nothing of either memory where the browser keeps nothing. */
export function readApplication(): Application {
  try {
    const { ram_bytes, flash_bytes } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Application>;
    return { ram_bytes: bytes(ram_bytes), flash_bytes: bytes(flash_bytes) };
  } catch {
    return { ram_bytes: 0, flash_bytes: 0 };
  }
}

/** Keeps it for the next visit, where the browser allows that. */
export function writeApplication(application: Application): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(application));
  } catch {
    // A browser that keeps nothing asks again.
  }
}

/** More than any board has. */
const MAX_BYTES = 2 ** 32 - 1;

/** Whatever else is stored there counts as nothing. */
function bytes(value: unknown): number {
  return typeof value === "number" && value > 0 ? Math.min(Math.round(value), MAX_BYTES) : 0;
}
