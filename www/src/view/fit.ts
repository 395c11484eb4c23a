/** Whether the model has room on a board, in words. */
import { BOARD_PREFIX, boardOf } from "../asked.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import type { OnBoard, Report, Room } from "../report.ts";

/** The target that the arena is counted for, whatever the microcontroller. */
const ANY_MICROCONTROLLER = "tflite-micro";

export const VERDICTS: Record<OnBoard["fits"], string> = { yes: "Fits", close: "May fit", no: "Too large" };

/** `123 KiB left`, `1.2 MiB left outside the chip`, `44 KiB short`. */
export function roomWords(room: Room): string {
  if (room.room === "short") return `${format.text(format.bytes(room.missing_bytes))} short`;
  return `${format.text(format.bytes(room.left_bytes))} left${room.room === "external" ? " outside the chip" : ""}`;
}

/** Of the whole arena: what the planner lays out, and what the interpreter keeps. Empty for other targets. */
function arenaLines({ fits, model }: Report, target: string): HTMLElement[] {
  if (target !== ANY_MICROCONTROLLER || !fits || model.arena_bytes === null) return [];
  const text = (bytes: number): string => format.text(format.bytes(bytes));
  const { arena_bytes } = fits.need;
  const words = `${text(arena_bytes)} with the kernels of CMSIS-NN: ${text(model.arena_bytes)} of activations and ${text(arena_bytes - model.arena_bytes)} for working buffers of kernels and what the interpreter keeps.`;
  return [el("p", { class: "fit" }, el("strong", {}, "The whole arena"), `: ${words} The interpreter's own count was the same for every file that was compared; that of an older release differed by up to 5 %, or 364 bytes: leave a tenth free.`)];
}

/** The board itself, or those whose measurements a target is made of. */
function boardsOf({ fits }: Report, target: string): OnBoard[] {
  const boards = fits?.boards ?? [];
  const board = boardOf(target);
  if (board !== null) return boards.filter(({ id }) => id === board);
  return boards.filter(({ latency }) => latency?.target === target && !latency.is_transferred);
}

/** A line for each board of the target: room, and what its latency rests on. */
export function fitLines(report: Report, target: string): HTMLElement[] {
  const is_board = target.startsWith(BOARD_PREFIX);
  const boards = boardsOf(report, target);
  const lines = boards.map(({ name, fits, ram, flash }) =>
    el(
      "p",
      { class: `fit fit-${fits}` },
      el("strong", {}, is_board || boards.length === 1 ? VERDICTS[fits] : `${VERDICTS[fits]} on ${name}`),
      `: RAM ${roomWords(ram)}, flash ${roomWords(flash)}, under TensorFlow Lite Micro.`,
    ),
  );
  const transferred = is_board && boards.some(({ latency }) => latency?.is_transferred);
  if (transferred) lines.push(el("p", { class: "doubt" }, "Nobody measured this board: its latency is that of boards with the same core, at its own clock, with a wider interval."));
  return [...arenaLines(report, target), ...lines];
}
