/** Where the drawing is looked at from: screen = world · scale + offset, in CSS px. */

const MIN_SCALE = 0.004;
const MAX_SCALE = 3;
/** Free border around a drawing that is fitted, in px. */
const MARGIN = 24;
/** Smallest scale at which boxes can be read; larger drawings open at their top. */
const READABLE_SCALE = 0.55;

/** Which part of the drawing is seen, and how large. */
export class Camera {
  scale = 1;
  x = 0;
  y = 0;
  width = 1;
  height = 1;

  constructor(
    readonly world_width: number,
    readonly world_height: number,
  ) {}

  /** Returns whether anything moved; the drawing never leaves the view. */
  pan(dx: number, dy: number): boolean {
    const [x, y] = [this.x, this.y];
    this.x += dx;
    this.y += dy;
    this.#clamp();
    return x !== this.x || y !== this.y;
  }

  zoomAt(x: number, y: number, factor: number): void {
    const scale = Math.min(MAX_SCALE, Math.max(this.#smallest(), this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.#clamp();
  }

  /** The whole drawing in view. */
  fit(): void {
    this.scale = Math.min(1, this.#fitScale());
    this.x = (this.width - this.world_width * this.scale) / 2;
    this.y = (this.height - this.world_height * this.scale) / 2;
  }

  /** The whole drawing where it can be read, else its top around column `x`. */
  open(x: number): void {
    this.fit();
    if (this.scale >= READABLE_SCALE) return;
    const by_width = (this.width - 2 * MARGIN) / Math.max(1, this.world_width);
    this.scale = Math.min(1, Math.max(READABLE_SCALE + 0.15, by_width));
    this.x = this.width / 2 - x * this.scale;
    this.y = MARGIN;
    this.#clamp();
  }

  /** Brings a world point into the middle, unless it is well within view already. */
  reveal(x: number, y: number): void {
    if (this.scale < READABLE_SCALE / 2) this.scale = READABLE_SCALE;
    const [sx, sy] = [x * this.scale + this.x, y * this.scale + this.y];
    const border = Math.min(90, this.width / 4, this.height / 4);
    const inside = sx > border && sy > border && sx < this.width - border && sy < this.height - border;
    if (!inside) {
      this.x = this.width / 2 - x * this.scale;
      this.y = this.height / 2 - y * this.scale;
    }
    this.#clamp();
  }

  toWorld(x: number, y: number): [number, number] {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  resize(width: number, height: number): void {
    this.x += (width - this.width) / 2;
    this.width = width;
    this.height = height;
    this.#clamp();
  }

  #fitScale(): number {
    return Math.max(
      MIN_SCALE,
      Math.min(
        (this.width - 2 * MARGIN) / Math.max(1, this.world_width),
        (this.height - 2 * MARGIN) / Math.max(1, this.world_height),
      ),
    );
  }

  #smallest(): number {
    return Math.min(0.5, this.#fitScale());
  }

  #clamp(): void {
    const drawn_width = this.world_width * this.scale;
    this.x = Math.max(this.width / 2 - drawn_width, Math.min(this.width / 2, this.x)); // any column can be in the middle
    this.y = clampAxis(this.y, this.world_height * this.scale, this.height);
  }
}

/** A drawing larger than the view covers it, a smaller one stays inside it. */
function clampAxis(offset: number, drawn: number, view: number): number {
  const [a, b] = [MARGIN, view - MARGIN - drawn];
  return Math.min(Math.max(a, b), Math.max(Math.min(a, b), offset));
}
