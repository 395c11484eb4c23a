/** Whether the model has room on a board, in words. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import type { OnBoard, Report, Room } from "../report.ts";
import { boardOf, nameInSpace } from "../targets.ts";

/** The target that the arena is counted for, whatever the microcontroller. */
const ANY_MICROCONTROLLER = "tflite-micro";

const VERDICTS: Record<OnBoard["fits"], string> = { yes: "Fits", close: "May fit", no: "Too large" };

/** Whether a model runs on a board, in few words. */
export function boardVerdict({ fits, reason }: OnBoard): string {
  return reason === undefined ? VERDICTS[fits] : "Does not run";
}

/** `123 KiB left`, `1.2 MiB left outside the chip`, `44 KiB short`; nothing of a model that does not run. */
export function roomWords(room: Room | null): string {
  if (room === null) return "";
  if (room.room === "short") return `${format.text(format.bytes(room.missing_bytes))} short`;
  return `${format.text(format.bytes(room.left_bytes))} left${room.room === "external" ? " outside the chip" : ""}`;
}

/** How large the piece of RAM on the chip is that an arena may take, where that is not all RAM; nothing of reports that do not say. */
export function pieceWords({ ram_bytes, contiguous_ram_bytes }: OnBoard): string {
  if (contiguous_ram_bytes === undefined || contiguous_ram_bytes === ram_bytes) return "";
  return contiguous_ram_bytes === null ? "not known whether in one piece" : `${format.text(format.bytes(contiguous_ram_bytes))} in one piece`;
}

/** What the arena holds: what the planner lays out, and what the interpreter keeps. Empty for other targets. */
function arenaLines({ model }: Report, target: string): HTMLElement[] {
  const { arena_bytes, activation_bytes } = model;
  if (target !== ANY_MICROCONTROLLER || arena_bytes === null || activation_bytes === null) return [];
  const text = (bytes: number): string => format.text(format.bytes(bytes));
  const words = `${text(arena_bytes)} with the kernels of CMSIS-NN: ${text(activation_bytes)} of activations and ${text(arena_bytes - activation_bytes)} for working buffers of kernels and what the interpreter keeps.`;
  return [el("p", { class: "fit" }, el("strong", {}, "The arena"), `: ${words} The interpreter's own count was the same for every file that was compared; that of an older release differed by up to 5 %, or 364 bytes: leave a tenth free.`)];
}

/** The board itself, or those whose measurements a target is made of. */
function boardsOf({ fits }: Report, target: string): OnBoard[] {
  const boards = fits?.boards ?? [];
  const board = boardOf(target);
  if (board !== null) return boards.filter(({ id }) => id === board);
  return boards.filter(({ latency }) => latency?.target === target && !latency.is_transferred);
}

/** RAM that the arena may take on a board of the target beside the application, in bytes; null where that is not known. */
export function arenaLimit(report: Report, target: string): number | null {
  const [board, ...others] = boardsOf(report, target);
  const { arena_bytes } = report.model;
  if (!board?.ram || others.length > 0 || arena_bytes === null || board.ram.room === "external") return null;
  const bytes = board.ram.room === "short" ? arena_bytes - board.ram.missing_bytes : arena_bytes + board.ram.left_bytes;
  return Math.min(bytes, board.contiguous_ram_bytes ?? Infinity);
}

/** A line for each board of the target: room, and what its latency rests on. */
export function fitLines(report: Report, target: string): HTMLElement[] {
  const is_board = nameInSpace("board", target) !== null;
  const boards = boardsOf(report, target);
  // Of another runtime than the estimates beside it.
  const instead = report.results.some((result) => result.target === target && result.metric === "activation_ram") ? "With TensorFlow Lite Micro instead: " : "";
  const lines = boards.map((board) => {
    const { name, fits, ram, flash, reason } = board;
    const piece = pieceWords(board);
    const words = is_board || boards.length === 1 ? boardVerdict(board) : `${boardVerdict(board)} on ${name}`;
    const why = reason === undefined ? `RAM ${roomWords(ram)}${piece === "" ? "" : ` (${piece})`}, flash ${roomWords(flash)}, under TensorFlow Lite Micro` : reason;
    return el("p", { class: `fit fit-${fits}` }, instead, el("strong", {}, words), `: ${why}.`);
  });
  return [...arenaLines(report, target), ...lines];
}
