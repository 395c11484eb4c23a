/** The part of the time that a timeline shows. */

/** Deepest zoom: a part of the whole. */
const MIN_PART = 1e-5;

/** From one time to another, within 0 and the end of the longest schedule. */
export class TimeWindow {
  #total = 1;
  from = 0;
  to = 1;

  /** Shows all of `total` where all was shown before, and the same part of it otherwise. */
  setTotal(total: number): void {
    const next = total > 0 ? total : 1;
    const [from, to] = [this.from / this.#total, this.to / this.#total];
    this.#total = next;
    this.#set(from * next, to * next);
  }

  get is_all(): boolean {
    return this.from <= 0 && this.to >= this.#total;
  }

  fit(): void {
    this.#set(0, this.#total);
  }

  /** Around a place, as a part of the window; a factor below 1 shows less. */
  zoomAt(part: number, factor: number): void {
    const length = Math.min(this.#total, Math.max(MIN_PART * this.#total, (this.to - this.from) * factor));
    const middle = this.from + part * (this.to - this.from);
    this.#set(middle - part * length, middle + (1 - part) * length);
  }

  /** By a part of the window. */
  pan(part: number): void {
    const by = part * (this.to - this.from);
    const moved = Math.min(this.#total - this.to, Math.max(-this.from, by));
    this.#set(this.from + moved, this.to + moved);
  }

  /** With some room around. */
  show(from: number, to: number): void {
    const room = Math.max((to - from) * 0.25, MIN_PART * this.#total);
    this.#set(from - room, to + room);
  }

  /** Moves no more than is needed for a time to be seen. */
  reveal(from: number, to: number): void {
    const length = this.to - this.from;
    if (from >= this.from && to <= this.to) return;
    const start = from < this.from ? from - length * 0.1 : Math.min(from - length * 0.1, to - length * 0.9);
    const moved = Math.max(0, Math.min(this.#total - length, start));
    this.#set(moved, moved + length);
  }

  #set(from: number, to: number): void {
    const length = Math.min(this.#total, Math.max(MIN_PART * this.#total, to - from));
    this.from = Math.max(0, Math.min(this.#total - length, from));
    this.to = this.from + length;
  }
}
