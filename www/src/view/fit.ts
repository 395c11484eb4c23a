/** Whether the model has room on a board, in words. */
import { BOARD_PREFIX } from "../asked.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import type { OnBoard, Report, Room } from "../report.ts";

export const VERDICTS: Record<OnBoard["fits"], string> = { yes: "Fits", close: "May fit", no: "Too large" };

/** `123 KiB left`, `1.2 MiB left outside the chip`, `44 KiB short`. */
export function roomWords(room: Room): string {
  if (room.room === "short") return `${format.text(format.bytes(room.missing_bytes))} short`;
  return `${format.text(format.bytes(room.left_bytes))} left${room.room === "external" ? " outside the chip" : ""}`;
}

/** The board itself, or those whose measurements a target is made of. */
function boardsOf({ fits }: Report, target: string): OnBoard[] {
  const boards = fits?.boards ?? [];
  if (target.startsWith(BOARD_PREFIX)) return boards.filter(({ id }) => target === BOARD_PREFIX + id);
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
  return lines;
}
