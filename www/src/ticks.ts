/**
 * Multiples of a round step between two values, at most `n` + 1 of them: the step is 1, 2 or 5 times a power of ten of
 * `unit`. Only `from` where both are equal.
 */
export function roundTicks(from: number, to: number, n: number, unit = 1): number[] {
  const rough = (to - from) / unit / n;
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = unit * power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const [first, last] = [Math.ceil(from / step), Math.floor(to / step)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}
