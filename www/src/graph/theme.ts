/** Colours and font of the drawings, read from the style sheet. */
import type { Kind } from "../kinds.ts";
import { costColour, onCostColour } from "./ramp.ts";

/** Colours and fonts of the drawing, from the style sheet. */
export interface Theme {
  surface: string;
  box: string;
  border: string;
  line: string;
  /** Of ticks and lanes. */
  grid: string;
  text: string;
  muted: string;
  accent: string;
  peak: string;
  left: string;
  font: string;
  kind: (kind: Kind | "input" | "output") => string;
  /** Of a cost from 0 to 1. */
  cost: (share: number) => string;
  /** Text on `cost`. */
  onCost: (share: number) => string;
}

/** The theme that is in force. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.body);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  const kinds = new Map<string, string>();
  const is_dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return {
    cost: (share) => costColour(share, is_dark),
    onCost: (share) => onCostColour(share, is_dark),
    surface: get("--canvas"),
    box: get("--surface"),
    border: get("--border-strong"),
    line: get("--line"),
    grid: get("--border"),
    text: get("--text"),
    muted: get("--text-muted"),
    accent: get("--accent"),
    peak: get("--peak"),
    left: get("--warning"),
    font: style.fontFamily,
    kind: (kind) => {
      const known = kinds.get(kind) ?? get(`--kind-${kind}`);
      kinds.set(kind, known);
      return known;
    },
  };
}

/** Calls back when the person's preferred colours change. */
export function onThemeChange(callback: () => void, signal: AbortSignal): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback, { signal });
}
