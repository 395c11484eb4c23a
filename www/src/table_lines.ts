/** Lines of tables that people paste: fields in quotes or without, and numbers as their country writes them. */

/** With a decimal point or comma, and points, commas or spaces between thousands; not a number where that is open. */
export function numberOf(text: string): number {
  const [sign, plain] = signAndDigits(text.replace(/[\s\u00a0\u202f']/g, ""));
  if (/^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return sign * Number(plain);
  if (/^\d{1,3}(\.\d{3})+,\d+$/.test(plain)) return sign * Number(plain.replaceAll(".", "").replace(",", "."));
  if (/^\d{1,3}(,\d{3})+(\.\d+|,\d{3})$/.test(plain)) return sign * Number(plain.replaceAll(",", ""));
  if (/^\d+,\d+$/.test(plain) && !/^[1-9]\d{0,2},\d{3}$/.test(plain)) return sign * Number(plain.replace(",", "."));
  return Number.NaN;
}

function signAndDigits(text: string): [number, string] {
  if (/^[-\u2212]/.test(text)) return [-1, text.slice(1)];
  return [1, text.startsWith("+") ? text.slice(1) : text];
}

/** More than a line here has; what is behind them is not looked at. */
const MAX_FIELDS = 64;

const QUOTED = /"(?:[^"]|"")*"/g;

/** What stands between the fields: a tab, a semicolon or a comma, whichever of them is there first. */
export function separatorOf(text: string): string {
  const outside = text.replace(QUOTED, "");
  return ["\t", ";", ","].find((candidate) => outside.includes(candidate)) ?? ",";
}

/** Fields of RFC 4180, without the quotes and the space around them. */
export function splitLine(line: string, separator: string): string[] {
  const quoted: string[] = [];
  // Private letters stand for what is in quotes, separators included; a line has none of its own.
  const bare = line.replace(/[\ue000\ue001]/g, "").replace(QUOTED, (field) => `\ue000${quoted.push(field.slice(1, -1).replaceAll('""', '"')) - 1}\ue001`);
  return bare.split(separator, MAX_FIELDS).map((field) => field.trim().replace(/\ue000(\d+)\ue001/g, (_, place: string) => quoted[Number(place)]));
}
