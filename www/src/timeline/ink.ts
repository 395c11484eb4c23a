/** What a timeline is drawn with: a canvas, or an SVG drawing of the same marks. */
import { label, node } from "../svg.ts";

/** Marks in CSS pixels. */
export interface Ink {
  rect(x: number, y: number, width: number, height: number, colour: string, alpha?: number): void;
  frame(x: number, y: number, width: number, height: number, colour: string, is_dashed?: boolean): void;
  line(x0: number, y0: number, x1: number, y1: number, colour: string, is_dashed?: boolean): void;
  text(words: string, x: number, y: number, colour: string, anchor: "start" | "middle" | "end"): void;
}

const FONT_PX = 11;
/** Of a letter, on average: bars are named where their name has room. */
export const LETTER_PX = 6.4;
const DASHES = [4, 3];

export class CanvasInk implements Ink {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D, font: string) {
    this.#context = context;
    context.font = `${FONT_PX}px ${font}`;
    context.textBaseline = "alphabetic";
    context.lineWidth = 1;
  }

  rect(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    this.#context.globalAlpha = alpha;
    this.#context.fillStyle = colour;
    this.#context.fillRect(x, y, width, height);
    this.#context.globalAlpha = 1;
  }

  frame(x: number, y: number, width: number, height: number, colour: string, is_dashed = false): void {
    this.#context.setLineDash(is_dashed ? DASHES : []);
    this.#context.strokeStyle = colour;
    this.#context.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), Math.max(0, height - 1));
    this.#context.setLineDash([]);
  }

  line(x0: number, y0: number, x1: number, y1: number, colour: string, is_dashed = false): void {
    this.#context.setLineDash(is_dashed ? DASHES : []);
    this.#context.strokeStyle = colour;
    this.#context.beginPath();
    this.#context.moveTo(x0, y0);
    this.#context.lineTo(x1, y1);
    this.#context.stroke();
    this.#context.setLineDash([]);
  }

  text(words: string, x: number, y: number, colour: string, anchor: "start" | "middle" | "end"): void {
    this.#context.textAlign = anchor === "middle" ? "center" : anchor;
    this.#context.fillStyle = colour;
    this.#context.fillText(words, x, y);
  }
}

export class SvgInk implements Ink {
  readonly element: SVGElement;

  constructor(width: number, height: number, title: string) {
    this.element = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif", "font-size": FONT_PX });
    const words = node("title", {});
    words.textContent = title;
    this.element.append(words);
  }

  rect(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    this.element.append(node("rect", { x: round(x), y: round(y), width: round(width), height: round(height), fill: colour, ...(alpha < 1 ? { "fill-opacity": alpha } : {}) }));
  }

  frame(x: number, y: number, width: number, height: number, colour: string, is_dashed = false): void {
    this.element.append(node("rect", { x: round(x + 0.5), y: round(y + 0.5), width: round(Math.max(0, width - 1)), height: round(Math.max(0, height - 1)), fill: "none", stroke: colour, ...(is_dashed ? { "stroke-dasharray": DASHES.join(" ") } : {}) }));
  }

  line(x0: number, y0: number, x1: number, y1: number, colour: string, is_dashed = false): void {
    this.element.append(node("line", { x1: round(x0), y1: round(y0), x2: round(x1), y2: round(y1), stroke: colour, ...(is_dashed ? { "stroke-dasharray": DASHES.join(" ") } : {}) }));
  }

  text(words: string, x: number, y: number, colour: string, anchor: "start" | "middle" | "end"): void {
    const element = label(words, round(x), round(y), anchor);
    element.setAttribute("fill", colour);
    this.element.append(element);
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
