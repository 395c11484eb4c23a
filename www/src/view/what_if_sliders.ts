/** Sliders for the network and for the hardware of one target. */
import * as format from "../format.ts";
import { type InForce, type Report } from "../report.ts";
import { type Scenario, factorText } from "../scenario.ts";
import { describedTarget, hasThreads, nameInSpace } from "../targets.ts";
import { THREADS } from "../threads.ts";
import { type Slider, slider } from "./slider.ts";

/** Positions of the factors: finer ones give the same shapes in small networks. */
const FACTORS = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2];
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const CLOCKS_MHZ = [50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1250, 1500];
const SRAM_KIB = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192];

/** Clock and SRAM that the sliders ask for; null for what the target has. */
export interface Hardware {
  clock_mhz: number | null;
  arena_cache_bytes: number | null;
}

/** What the sliders ask for. */
export interface Wanted {
  scenario: Scenario;
  hardware: Hardware;
}

/** The sliders of a report. */
export class WhatIfSliders {
  readonly elements: HTMLElement[];
  readonly #report: Report;
  readonly #sliders: Record<"resolution" | "width" | "batch" | "threads" | "clock" | "sram", Slider>;
  /** Null until it is known. */
  #in_force: InForce | null = null;

  /** `base` is what the report is of; `change` is called with what is to change of what is asked for. */
  constructor(report: Report, base: Scenario, change: (scenario: Partial<Scenario>, hardware: Partial<Hardware>) => void) {
    this.#report = report;
    const factor = (name: "resolution" | "width", label: string, words: (value: number) => string): Slider =>
      slider(`what-if-${name}`, label, FACTORS, words, (value) => change({ [name]: value }, {}));
    this.#sliders = {
      resolution: factor("resolution", "Input resolution", (value) => resolutionText(this.#inputShape(), value / base.resolution)),
      width: factor("width", "Width of layers", factorText),
      batch: slider("what-if-batch", "Batch", BATCHES, String, (batch) => change({ batch }, {})),
      threads: slider("what-if-threads", "Threads", THREADS, String, (threads) => change({ threads }, {})),
      clock: slider("what-if-clock", "Clock", CLOCKS_MHZ, (mhz) => `${mhz}\u202fMHz`, (mhz) => change({}, { clock_mhz: mhz === this.#in_force?.clock_mhz ? null : mhz })),
      sram: slider("what-if-sram", "SRAM", SRAM_KIB, sramWords, (kib) => change({}, { arena_cache_bytes: kib * 1024 === this.#in_force?.arena_cache_bytes ? null : kib * 1024 })),
    };
    this.elements = Object.values(this.#sliders).map(({ element }) => element);
  }

  /** Shows what is asked for of `target`, which has what is `in_force`. */
  set(target: string, { scenario, hardware }: Wanted, in_force: InForce | null): void {
    this.#in_force = in_force;
    const { clock_mhz = null, arena_cache_bytes = null } = in_force ?? {};
    const is_npu = arena_cache_bytes !== null;
    const is_device = nameInSpace("device", target) !== null;
    const takes_network = !this.#report.what_if?.channels && !is_device;
    const shape = this.#inputShape();
    const has_sides = shape.length >= 3 && shape.slice(1, -1).some((size) => size > 1);
    const { resolution, width, batch, threads, clock, sram } = this.#sliders;
    resolution.set(scenario.resolution, takes_network && has_sides, "the input has no rows or columns");
    width.set(scenario.width, takes_network, "a device of your own follows from measured files");
    batch.set(scenario.batch, !is_npu && !is_device, "NPUs take one input at a time");
    const max_threads = describedTarget(target)?.max_threads;
    threads.set(Math.min(scenario.threads, max_threads ?? Infinity), hasThreads(target), "of processors that were measured on several numbers of them", max_threads);
    clock.set(hardware.clock_mhz ?? clock_mhz ?? 0, clock_mhz !== null, "of microcontrollers and Ethos-U accelerators");
    sram.set((hardware.arena_cache_bytes ?? arena_cache_bytes ?? 0) / 1024, is_npu, "of Ethos-U accelerators");
  }

  #inputShape(): readonly number[] {
    return this.#report.tensors[this.#report.model.inputs[0]]?.shape ?? [];
  }
}

/** More than any board has is what the accelerator addresses: Vela may fill all of it. */
const ALL_KIB = 1024 ** 2;

function sramWords(kib: number): string {
  return kib >= ALL_KIB ? "no limit" : format.text(format.bytes(kib * 1024));
}

/** Sides of the input, as the engine rounds them. */
function resolutionText(shape: readonly number[], factor: number): string {
  const sides = shape.slice(1, -1).map((size) => (size > 1 ? Math.max(1, Math.round(size * factor)) : size));
  return sides.length > 0 ? sides.join("×") : factorText(factor);
}
