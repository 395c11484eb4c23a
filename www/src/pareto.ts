/** Which of several points no other is better than, by intervals: in all measures at once. */

/** One measure of a point; less is better. An unknown error is an interval without ends. */
export interface Range {
  lo: number;
  hi: number;
}

/** Whether a point is on the front whatever lies in the intervals, in some cases, or in none. */
export type Standing = "surely" | "perhaps" | "not";

/** Of each point; `ranges` are its measures, as many for every point. Quadratic in points. */
export function standingsOf(points: readonly (readonly Range[])[]): Standing[] {
  return points.map((point, i) => {
    let standing: Standing = "surely";
    for (const [j, other] of points.entries()) {
      if (j === i) continue;
      if (isSurelyBetter(other, point)) return "not";
      if (canBeBetter(other, point)) standing = "perhaps";
    }
    return standing;
  });
}

/** At least as good in all measures and better in one, wherever both lie. */
function isSurelyBetter(a: readonly Range[], b: readonly Range[]): boolean {
  return a.every(({ hi }, i) => hi <= b[i].lo) && a.some(({ hi }, i) => hi < b[i].lo);
}

function canBeBetter(a: readonly Range[], b: readonly Range[]): boolean {
  return a.every(({ lo }, i) => lo <= b[i].hi) && a.some(({ lo }, i) => lo < b[i].hi);
}
