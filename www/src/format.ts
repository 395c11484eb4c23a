/** Numbers for people: three significant digits and a unit they know. */

export type Quantity = readonly [value: string, unit: string];

const BINARY = ["bytes", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];

/** Three significant digits, never in powers of ten. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3)))));
  if (magnitude >= 3) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.min(8, Math.max(0, 2 - magnitude)));
}

/** In the unit of `like`, scaled so that rounding that one to three digits never shows 1024 of a unit. */
function scaled(value: number, base: number, units: string[], like = value): Quantity {
  let step = 0;
  let rest = value;
  while (step + 1 < units.length && Math.abs(like) >= base - 0.5) {
    like /= base;
    rest /= base;
    step += 1;
  }
  return [step === 0 ? rest.toLocaleString("en") : digits(rest), units[step]];
}

export function bytes(value: number, like = value): Quantity {
  return like === 1 && value === 1 ? ["1", "byte"] : scaled(value, 1024, BINARY, like);
}

/** A count with a decimal prefix, for example of MACs. */
export function count(value: number, unit = "", like = value): Quantity {
  const [number, prefix] = scaled(value, 1000, DECIMAL, like);
  return [number, `${prefix}${prefix && unit ? " " : ""}${unit}`];
}

function milliseconds(value: number, like: number): Quantity {
  if (Math.abs(like) >= 999.5) return [digits(value / 1000), "s"];
  if (like !== 0 && Math.abs(like) < 0.1) return [digits(value * 1000), "µs"];
  return [digits(value), "ms"];
}

function millijoules(value: number, like: number): Quantity {
  if (Math.abs(like) >= 999.5) return [digits(value / 1000), "J"];
  if (like !== 0 && Math.abs(like) < 0.1) return [digits(value * 1000), "µJ"];
  return [digits(value), "mJ"];
}

/** A value in the unit of the report, scaled as `like` is: beside a value its interval has the same unit. */
export function measure(value: number, unit: string, like = value): Quantity {
  if (unit === "bytes") return bytes(Math.round(value), Math.round(like));
  if (unit === "ms") return milliseconds(value, like);
  if (unit === "mJ") return millijoules(value, like);
  return [digits(value), unit];
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

export function text(quantity: Quantity): string {
  return quantity[1] ? `${quantity[0]}\u202f${quantity[1]}` : quantity[0];
}

export function percent(value: number): string {
  return `${value >= 99.95 ? Math.round(value) : value.toPrecision(2)}\u202f%`;
}

export function shape(dimensions: readonly number[]): string {
  return dimensions.length === 0 ? "scalar" : dimensions.map((d) => (d < 0 ? "?" : String(d))).join("×");
}

/** Signed, for example `+12 %`; what rounds to nothing has no sign. */
export function change(ratio: number): string {
  const percents = 100 * (ratio - 1);
  if (!Number.isFinite(percents)) return "–";
  if (Math.abs(percents) < 0.05) return "0\u202f%";
  return `${percents > 0 ? "+" : "\u2212"}${percent(Math.abs(percents))}`;
}

/** `1 operator`, `2 operators`. */
export function plural(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
