/** `load()` of devices, on any platform. */
import type * as api from "../types/devices.d.ts";
import { fromBase64 } from "./base64.ts";
import { start } from "./devices.ts";
import type { Platform } from "./sources.ts";

/** The `load` of a platform. */
export function loader(platform: Platform): () => Promise<api.Devices> {
  let started: Promise<api.Devices> | null = null;
  const begin = async (): Promise<api.Devices> => start(await platform.decompress(fromBase64((await import("./assets/devices.js")).default)));
  return () => {
    started ??= begin().catch((error: unknown) => {
      started = null;
      throw error;
    });
    return started;
  };
}
