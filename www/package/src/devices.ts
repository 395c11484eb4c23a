/** Devices from what benchmark tools print: a module of its own, which only those who have a profile load. */
import type * as api from "../types/devices.d.ts";
import type { Report } from "../types/index.d.ts";
import { bytesOf, count, deviceText, listOf, number, optionsOf, reportText, text } from "./arguments.ts";
import init, * as module from "./device_module.js";
import { fromModule, inWords, LitecastError, reading, thrownInWords } from "./errors.ts";

const OPTIONS = ["profile_name", "threads", "clock_mhz", "like", "device"] as const satisfies (keyof api.MeasureOptions)[];

const COMMAND_OPTIONS = ["tool", "threads", "target"] as const satisfies (keyof api.CommandOptions)[];

/** What `load()` returns. */
class Devices implements api.Devices {
  measure(name: string, report: Report, profile: string | api.BytesSource, options: api.MeasureOptions = {}): api.Device {
    const { profile_name = "profile", threads = 1, clock_mhz, like, device } = optionsOf(options, OPTIONS);
    const printed = typeof profile === "string" ? new TextEncoder().encode(profile) : bytesOf(profile, "profile");
    const args = [text(name, "name"), count(threads, "threads"), reportText(report, "report"), printed, text(profile_name, "profile_name")] as const;
    const clock = clock_mhz === undefined ? undefined : number(clock_mhz, "clock_mhz");
    const base = like === undefined ? undefined : text(like, "like");
    const known = device === undefined ? undefined : deviceText(device, "device");
    return parsed(() => module.addMeasurement(...args, clock, base, known));
  }

  baseFamilies(profile: string | api.BytesSource, clock_mhz?: number, like?: string): string[] {
    const printed = typeof profile === "string" ? new TextEncoder().encode(profile) : bytesOf(profile, "profile");
    const clock = clock_mhz === undefined ? undefined : number(clock_mhz, "clock_mhz");
    const resembled = like === undefined ? undefined : text(like, "like");
    return called(() => module.baseFamilies(printed, clock, resembled));
  }

  read(json: string | api.BytesSource): api.Device {
    const bytes = typeof json === "string" ? new TextEncoder().encode(json) : bytesOf(json, "json");
    return parsed(() => module.readDevice(bytes));
  }

  next(device: api.Device | string, reports: readonly Report[]): api.NextMeasurement[] {
    const is_array = reading("reports", () => Array.isArray(reports));
    if (!is_array) throw new LitecastError("wrong-argument", `reports: expected an array, found ${inWords(reports)}`);
    const texts = listOf(reports, "reports").map((report, i) => reportText(report, `reports[${i}]`));
    const known = deviceText(device, "device");
    return parsed(() => module.nextMeasurements(known, texts));
  }

  command(file: string, options: api.CommandOptions = {}): string {
    const { tool = "", threads = 1, target = "" } = optionsOf(options, COMMAND_OPTIONS);
    const args = [text(tool, "tool"), text(file, "file"), count(threads, "threads"), text(target, "target")] as const;
    return called(() => module.command(...args));
  }

  tools(): api.Tool[] {
    return parsed(() => module.tools());
  }

  facts(device: api.Device | string): api.DeviceFacts {
    const bytes = new TextEncoder().encode(deviceText(device, "device"));
    return parsed(() => module.factsOf(bytes));
  }
}

function parsed<Value>(call: () => string): Value {
  return JSON.parse(called(call)) as Value;
}

function called<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (error) {
    throw fromModule(error);
  }
}

/** Over a module that was compiled, or its bytes. */
export async function start(wasm: WebAssembly.Module | Uint8Array): Promise<api.Devices> {
  try {
    await init({ module_or_path: wasm as WebAssembly.Module });
  } catch (error) {
    throw new LitecastError("wasm", `the module of devices could not be started (${thrownInWords(error)})`, error);
  }
  return new Devices();
}
