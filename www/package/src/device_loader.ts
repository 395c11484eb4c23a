/** `load()` of devices, on any platform. */
import type * as api from "../types/devices.d.ts";
import { fromBase64 } from "./base64.ts";
import { start } from "./devices.ts";
import type { Platform } from "./sources.ts";

/** The `probes` of a platform. */
export function probeReader(platform: Platform): () => Promise<api.Probe[]> {
  return async () => {
    const json = await platform.decompress(fromBase64((await import("./assets/probes.js")).default));
    const files = Object.entries(JSON.parse(new TextDecoder().decode(json)) as Record<string, string>);
    return files.map(([name, contents]) => ({ name, bytes: fromBase64(contents) }));
  };
}

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
