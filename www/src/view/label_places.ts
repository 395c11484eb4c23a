/** Names beside the points of a drawing, none over another name or a point. */

/** A point with its name. */
export interface Named {
  x: number;
  y: number;
  text: string;
}

/** Where a name stands. */
export interface Place {
  /** Of the baseline. */
  y: number;
  x: number;
  anchor: "start" | "middle" | "end";
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const HEIGHT = 13;
/** From the baseline to the top of letters. */
const ASCENT = 10;
/** From the middle of a point to its name. */
const DISTANCE = 9;
const RADIUS = 6;
/** Another point is at least so many times as far from a name as its own: whose it is can be seen. */
const CLEARER = 1.4;

/** More have no room in any drawing, and each is compared with every point. */
const MAX_NAMES = 200;

/**
 * A place for each name that has one, the first ones first; `widthOf` is that of a text as it is drawn.
 */
export function placeNames<P extends Named>(named: readonly P[], frame: Box, widthOf: (text: string) => number): Map<P, Place> {
  const taken = named.map(({ x, y }): Box => ({ left: x - RADIUS, right: x + RADIUS, top: y - RADIUS, bottom: y + RADIUS }));
  const places = new Map<P, Place>();
  for (const point of named.slice(0, MAX_NAMES)) {
    const width = widthOf(point.text);
    const place = candidates(point).find((place) => {
      const box = boxOf(place, width);
      const nearest = CLEARER * distance(point, box);
      return isInside(box, frame) && !taken.some((other) => overlap(box, other)) && named.every((other) => other === point || distance(other, box) >= nearest);
    });
    if (!place) continue;
    places.set(point, place);
    taken.push(boxOf(place, width));
  }
  return places;
}

function candidates({ x, y }: Named): Place[] {
  const [right, left, middle] = [x + DISTANCE, x - DISTANCE, y + ASCENT / 2 - 1];
  const [above, below] = [y - DISTANCE, y + DISTANCE + ASCENT / 2];
  return [
    { x: right, y: middle, anchor: "start" },
    { x: left, y: middle, anchor: "end" },
    ...[above, below].flatMap((y): Place[] => [{ x, y, anchor: "middle" }, { x: x - RADIUS, y, anchor: "start" }, { x: x + RADIUS, y, anchor: "end" }]),
  ];
}

function boxOf({ x, y, anchor }: Place, width: number): Box {
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - ASCENT, bottom: y + HEIGHT - ASCENT };
}

function distance({ x, y }: Named, { left, right, top, bottom }: Box): number {
  return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
}

function isInside(box: Box, frame: Box): boolean {
  return box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** At most `n` letters: the middle goes, since names of files differ at their ends. */
export function shortened(text: string, n: number): string {
  if (text.length <= n) return text;
  const head = Math.ceil((n - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (n - 1 - head))}`;
}
