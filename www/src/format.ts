/** Numbers for people: three significant digits and a unit they know. */

/** A number and its unit, as they are shown. */
export type Quantity = readonly [value: string, unit: string];

const BINARY = ["bytes", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];

/** Of every number, unless two that differ would look the same. */
const N_DIGITS = 3;
const MAX_DIGITS = 6;
/** Beside a limit, where any difference decides. */
const MAX_DIGITS_BESIDE = 12;

/** Significant digits, never in powers of ten. */
export function digits(value: number, n = N_DIGITS): string {
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(n)))));
  const n_decimals = Math.min(8, Math.max(0, n - 1 - magnitude));
  return magnitude >= 3 ? value.toLocaleString("en", { minimumFractionDigits: n_decimals, maximumFractionDigits: n_decimals }) : value.toFixed(n_decimals);
}

/** In the unit of `like`, scaled so that rounding that one to three digits never shows 1024 of a unit. */
function scaled(value: number, base: number, units: string[], like = value, n_digits = N_DIGITS): Quantity {
  let step = 0;
  let rest = value;
  while (step + 1 < units.length && Math.abs(like) >= base - 0.5) {
    like /= base;
    rest /= base;
    step += 1;
  }
  return [step === 0 ? rest.toLocaleString("en") : digits(rest, n_digits), units[step]];
}

/** Bytes in the unit that fits `like`. */
export function bytes(value: number, like = value, n_digits = N_DIGITS): Quantity {
  return like === 1 && value === 1 ? ["1", "byte"] : scaled(value, 1024, BINARY, like, n_digits);
}

/** A count with a decimal prefix, for example of MACs. */
export function count(value: number, unit = "", like = value): Quantity {
  const [number, prefix] = scaled(value, 1000, DECIMAL, like);
  return [number, `${prefix}${prefix && unit ? " " : ""}${unit}`];
}

/** What reports give in thousandths of a unit. */
function thousandths(value: number, like: number, n_digits: number, [whole, milli, micro, nano]: readonly [string, string, string, string]): Quantity {
  const size = Math.abs(like);
  if (size >= 999.5) return [digits(value / 1000, n_digits), whole];
  if (size === 0 || size >= 0.1) return [digits(value, n_digits), milli];
  return size < 1e-4 ? [digits(value * 1e6, n_digits), nano] : [digits(value * 1000, n_digits), micro];
}

/** A value in the unit of the report, scaled as `like` is: beside a value its interval has the same unit. */
export function measure(value: number, unit: string, like = value, n_digits = N_DIGITS): Quantity {
  if (unit === "bytes") return bytes(Math.round(value), Math.round(like), n_digits);
  if (unit === "ms") return thousandths(value, like, n_digits, ["s", "ms", "µs", "ns"]);
  if (unit === "mJ") return thousandths(value, like, n_digits, ["J", "mJ", "µJ", "nJ"]);
  return [digits(value, n_digits), unit];
}

/** Both ends of an interval in the unit of `like`, with as many digits as tell them apart. */
export function intervalEnds(lo: number, hi: number, unit: string, like: number): [low: string, high: string] {
  for (let n_digits = N_DIGITS; ; n_digits++) {
    const [low, high] = [lo, hi].map((end) => measure(end, unit, like, n_digits)[0]);
    if (low !== high || lo === hi || n_digits === MAX_DIGITS) return [low, high];
  }
}

/** How many digits tell a value from a limit, in the unit of `like`. */
function digitsBeside(value: number, unit: string, limit: number, like = value): number {
  let n_digits = N_DIGITS;
  while (value !== limit && n_digits < MAX_DIGITS_BESIDE && measure(value, unit, like, n_digits).join() === measure(limit, unit, like, n_digits).join()) n_digits++;
  return n_digits;
}

/** A value beside another: with as many digits as tell them apart. */
export function measureBeside(value: number, unit: string, limit: number): Quantity {
  return measure(value, unit, value, digitsBeside(value, unit, limit));
}

/** Bytes in the unit of a whole, told apart from it, without the unit. */
export function bytesBeside(value: number, whole: number): string {
  return measure(value, "bytes", whole, digitsBeside(value, "bytes", whole, whole))[0];
}

/** Both ends of an interval beside a limit, each told apart from it, in the unit of `like`. */
export function intervalEndsBeside(lo: number, hi: number, unit: string, like: number, limit: number): [low: string, high: string] {
  const shown = intervalEnds(lo, hi, unit, like);
  const [low, high] = [lo, hi].map((end) => digitsBeside(end, unit, limit, like));
  return [low > N_DIGITS ? measure(lo, unit, like, low)[0] : shown[0], high > N_DIGITS ? measure(hi, unit, like, high)[0] : shown[1]];
}

/**
 * A value that stands for a whole column, so that the column has one unit: the median of those above 0, in which most
 * of them read well.
 */
export function columnScale(values: readonly number[]): number {
  const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
  return positive[Math.floor(positive.length / 2)] ?? 0;
}

/** The unit that `measure` gives values like `like`. */
export function unitOf(unit: string, like: number): string {
  return measure(like, unit)[1];
}

/** A quantity as one string, which does not break. */
export function text(quantity: Quantity): string {
  return quantity[1] ? `${quantity[0]}\u202f${quantity[1]}` : quantity[0];
}

/** Two significant digits, never in powers of ten. */
export function percent(value: number): string {
  if (!Number.isFinite(value)) return "not finite";
  const rounded = Math.abs(Number(value.toPrecision(2)));
  const n_decimals = rounded === 0 ? 0 : Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(rounded))));
  return `${rounded >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(n_decimals)}\u202f%`;
}

/** Sizes along each axis, joined by ×. */
export function shape(dimensions: readonly number[]): string {
  return dimensions.length === 0 ? "scalar" : dimensions.map((d) => (d < 0 ? "?" : String(d))).join("×");
}

/** Signed, for example `+12 %`; what rounds to nothing has no sign. */
export function relativeChange(ratio: number): string {
  const percents = 100 * (ratio - 1);
  if (Number.isNaN(percents)) return "0\u202f%";
  if (!Number.isFinite(percents)) return "from 0";
  if (Math.abs(percents) < 0.05) return "0\u202f%";
  return `${percents > 0 ? "+" : "\u2212"}${percent(Math.abs(percents))}`;
}

/** `1 operator`, `2 operators`. */
export function plural(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
