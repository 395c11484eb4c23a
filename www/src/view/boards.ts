/** On which microcontroller boards the model has room, beside a person's own application. */
import { writeApplication } from "../application.ts";
import { idInSpace } from "../targets.ts";
import { el, keepingFocus } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Application, Fits, OnBoard, Report, Room } from "../report.ts";
import { UNKNOWN } from "./estimate_cells.ts";
import { pieceWords, roomWords, boardVerdict } from "./board_room.ts";
import { type SortKey, type Sorting, sortBy, sortHead, sortingAfter } from "../sorting.ts";
import type { MoreTargets } from "./target_groups.ts";
import type { Tool } from "./tool_tabs.ts";
import { asSentence } from "../words.ts";

const ORDER: readonly OnBoard["fits"][] = ["yes", "close", "no"];
/** Boards that fit come first. */
const BY_VERDICT: Sorting = { column: 3, descending: false };

/** Null where the file does not tell how much memory it needs. */
export function boardsTool(report: Report, estimator: Estimator, focus: Focus, more: MoreTargets, signal: AbortSignal): Tool | null {
  const { fits } = report;
  if (!fits) return null;
  const hint = el("span", { class: "subtle" });
  const count = (): void => {
    const { boards } = report.fits ?? fits;
    hint.textContent = `fits ${boards.filter((board) => board.fits === "yes").length} of ${boards.length} microcontrollers`;
  };
  focus.onChange(count, signal);
  count();
  return { id: "boards", label: "Boards", hint, body: () => boardsPanel(report, fits, estimator, focus, more, signal) };
}

function boardsPanel(report: Report, first: Fits, estimator: Estimator, focus: Focus, more: MoreTargets, signal: AbortSignal): HTMLElement {
  const place = el("div", { class: "scroller boards-scroller", tabindex: 0, role: "region", "aria-label": "Boards, scrollable" });
  const words = el("p", { class: "doubt", role: "status" });
  let sorting = BY_VERDICT;
  const draw = (): void => {
    const sort = (column: number): void => {
      sorting = sortingAfter(sorting, column);
      draw();
      (place.querySelectorAll("thead button")[column] as HTMLElement | undefined)?.focus();
    };
    const { scrollTop } = place;
    void keepingFocus(place, () => place.replaceChildren(boardsTable((report.fits ?? first).boards, focus.targetIn(report), sorting, sort, more)));
    place.scrollTop = scrollTop;
  };
  const update = async (application: Application): Promise<void> => {
    writeApplication(application);
    try {
      report.fits = await withApplication(report.fits ?? first, application, estimator);
      words.textContent = "";
      focus.refresh();
    } catch (error) {
      words.textContent = asSentence((error as Error).message);
    }
  };
  focus.onChange(draw, signal);
  draw();
  return el("div", { class: "boards" }, needWords(first), applicationForm(first.application, (application) => void update(application)), words, place, el("p", { class: "subtle" }, NOTE));
}

const NOTE =
  "By the arena of TensorFlow Lite Micro with CMSIS-NN, which needs RAM in one piece, and memory on and beside the chip. “May fit” where the largest sizes of arena, file and code, or a stack beside the arena, need more than is left. A latency with * is that of other boards with the same core. Latencies are those of TensorFlow Lite Micro.";

/** Latencies, and why there are none, do not depend on the application. */
async function withApplication({ need, boards }: Fits, application: Application, estimator: Estimator): Promise<Fits> {
  const fits_of_need = await estimator.fits(need, application);
  const before = new Map(boards.map((board) => [board.id, board]));
  const withLatency = (board: OnBoard): OnBoard => {
    const { latency = null, no_latency } = before.get(board.id) ?? {};
    return { ...board, latency, ...(no_latency ? { no_latency } : {}) };
  };
  return { ...fits_of_need, boards: fits_of_need.boards.map(withLatency) };
}

/** What the boards need, or why none of them runs the model. */
function needWords({ need, boards }: Fits): HTMLElement {
  const line = (words: string, reasons: readonly (string | undefined)[]): HTMLElement[] =>
    [...counted(reasons)].map(([reason, n]) => el("p", { class: "doubt" }, `${words} ${n} of ${boards.length} boards: ${reason}.`));
  const refusals = [
    ...line("Does not run on", boards.map(({ reason }) => reason)),
    ...line("No latency for", boards.map(({ no_latency }) => no_latency?.unavailable)),
  ];
  const calls = need.kernels.map((call) => `${call}();`).join(" ");
  const resolver = calls === "" ? null : el("p", { class: "resolver" }, "Kernels to register with ", el("code", {}, `MicroMutableOpResolver<${need.kernels.length}>`), ": ", el("code", {}, calls));
  return el("div", {}, el("p", {}, sizeWords(need)), ...refusals, resolver);
}

/** How often there is each reason. */
function counted(reasons: readonly (string | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const reason of reasons) if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

/** Nothing of a model that does not run. */
function sizeWords({ arena_bytes, max_arena_bytes, stack_bytes, file_bytes, max_file_bytes, code_bytes }: Fits["need"]): string {
  if (arena_bytes === null) return "";
  const text = (bytes: number): string => format.text(format.bytes(bytes));
  const most = max_arena_bytes === null ? "" : ` (at most ${text(max_arena_bytes)}), with ${text(stack_bytes)} kept for a stack`;
  const file = max_file_bytes === undefined ? "the file" : `the .tflite file, which has yet to be written (at most ${text(max_file_bytes)})`;
  return `Needs ${text(arena_bytes)} of RAM for the tensor arena${most}, and about ${text(file_bytes + code_bytes.value)} of flash: ${text(file_bytes)} for ${file}, ${text(code_bytes.value)} (${text(code_bytes.lo)} to ${text(code_bytes.hi)}) for the interpreter and the kernels.`;
}

function applicationForm(application: Application, change: (application: Application) => void): HTMLElement {
  const field = (id: string, bytes: number): HTMLInputElement => {
    const input = el("input", { id, type: "number", min: 0, step: "any", placeholder: "0", value: bytes > 0 ? bytes / 1024 : null });
    input.addEventListener("change", apply);
    return input;
  };
  const apply = (): void => {
    if (![ram, flash].every(({ validity }) => validity.valid)) return;
    const bytes = (input: HTMLInputElement): number => (input.value === "" ? 0 : Math.round(input.valueAsNumber * 1024));
    change({ ram_bytes: bytes(ram), flash_bytes: bytes(flash) });
  };
  const [ram, flash] = [field("application-ram", application.ram_bytes), field("application-flash", application.flash_bytes)];
  return el(
    "p",
    { class: "application" },
    "Your application keeps ",
    el("label", {}, ram, " KiB of RAM"),
    " and ",
    el("label", {}, flash, " KiB of flash."),
  );
}

interface Column {
  name: string;
  /** Stands below the name of the board where the window is narrow. */
  is_wide?: boolean;
  key: (board: OnBoard) => SortKey;
  cell: (board: OnBoard) => HTMLElement;
}

function boardsTable(boards: readonly OnBoard[], chosen: string, sorting: Sorting, sort: (column: number) => void, more: MoreTargets): HTMLElement {
  const name = ({ id, name, chip, core }: OnBoard): HTMLElement => {
    const target = idInSpace("board", id);
    const choose = el("button", { type: "button", class: "link", "aria-pressed": String(target === chosen), onclick: () => more.choose(target) }, name);
    return el("th", { scope: "row" }, more.is_possible ? choose : name, el("span", { class: "board-words" }, `${chip}, ${core}`));
  };
  const plain = (text: string): HTMLElement => el("td", { class: "wide-only" }, text);
  const columns: Column[] = [
    { name: "Board", key: ({ name }) => name, cell: name },
    { name: "Chip", is_wide: true, key: ({ chip }) => chip, cell: ({ chip }) => plain(chip) },
    { name: "Core", is_wide: true, key: ({ core }) => core, cell: ({ core, clock_mhz }) => plain(clock_mhz === null ? core : `${core}, ${clock_mhz}\u202fMHz`) },
    { name: "Fits", key: ({ fits }) => ORDER.indexOf(fits), cell: (board) => el("td", { class: `fit-${board.fits}`, title: board.reason ?? null }, boardVerdict(board)) },
    { name: "RAM", key: ({ ram }) => room(ram), cell: (board) => el("td", { class: `numeric ${board.ram?.room ?? ""}` }, roomWords(board.ram), board.ram === null ? null : el("span", { class: "evidence" }, pieceWords(board))) },
    { name: "Flash", key: ({ flash }) => room(flash), cell: ({ flash }) => el("td", { class: `numeric ${flash?.room ?? ""}` }, roomWords(flash)) },
    { name: "Latency", key: ({ fits, latency }) => (fits === "no" ? null : latency?.value_ms ?? null), cell: latencyCell },
  ];
  const rows = sortBy(boards, sorting, columns[sorting.column].key);
  const heads = columns.map(({ name, is_wide }, i) => sortHead(name, "", i, sorting, i > 3 ? { class: "numeric" } : is_wide ? { class: "wide-only" } : {}, sort));
  return el(
    "table",
    { class: "boards-table" },
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...rows.map((board) => el("tr", { "data-board": board.id, class: idInSpace("board", board.id) === chosen ? "chosen" : null }, ...columns.map(({ cell }) => cell(board))))),
  );
}

/** Bytes left, or below 0 what is short. */
function room(room: Room | null): SortKey {
  if (room === null) return null;
  return room.room === "short" ? -room.missing_bytes : room.left_bytes;
}

/** Nothing where the model does not run or has no room, as the verdict says. */
function latencyCell({ fits, latency, no_latency }: OnBoard): HTMLElement {
  if (fits === "no") return el("td", { class: "numeric" });
  if (!latency) return el("td", { class: "numeric subtle", title: no_latency ? `No latency: ${no_latency.unavailable}` : null }, UNKNOWN);
  const { value_ms, lo_ms, hi_ms, is_transferred } = latency;
  const text = (ms: number): string => format.measure(ms, "ms", value_ms)[0];
  return el(
    "td",
    { class: "numeric", title: is_transferred ? "Assumed: other boards with this core were measured" : "A model fitted to measurements of this board" },
    el("span", { class: "value" }, `${format.text(format.measure(value_ms, "ms"))}${is_transferred ? "\u202f*" : ""}`),
    el("span", { class: "doubt-words" }, `${text(lo_ms)} \u2013 ${text(hi_ms)}`),
  );
}
