/** A column of one's own in comparisons: accuracy or anything else that is known of a file, kept in this browser. */
import { MODEL_ENDING } from "./model_files.ts";
import { numberOf, separatorOf, splitLine } from "./table_lines.ts";

/** Numbers by the name of their file. */
export interface CustomColumn {
  name: string;
  is_more_better: boolean;
  values: Readonly<Record<string, number>>;
}

/** Another format gets another key. */
const KEY = "litecast.column.1";
export const MAX_COLUMN_CHARACTERS = 200_000;
const MAX_VALUES = 5000;
const MAX_NAME = 60;
const DEFAULT_NAME = "Accuracy";

/** Null where there is none; whatever else is stored there counts as none. */
export function readColumn(): CustomColumn | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "null");
    if (typeof kept !== "object" || kept === null || !("values" in kept) || typeof kept.values !== "object" || kept.values === null) return null;
    const { name, is_more_better } = kept as Partial<CustomColumn>;
    const values = Object.entries(kept.values).filter((entry): entry is [string, number] => typeof entry[1] === "number" && Number.isFinite(entry[1]));
    return { name: typeof name === "string" ? name.slice(0, MAX_NAME) : DEFAULT_NAME, is_more_better: is_more_better !== false, values: Object.fromEntries(values.slice(0, MAX_VALUES)) };
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function keepColumn(column: CustomColumn | null): void {
  try {
    if (column === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(column));
  } catch {
    // A browser that keeps nothing forgets the column with the page.
  }
}

/** Of a file as it is named, or as a table names it: without folder and ending. */
export function columnValueOf({ values }: CustomColumn, file: string): number | null {
  return Object.hasOwn(values, file) ? values[file] : null;
}

const stem = (name: string): string => name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).replace(MODEL_ENDING, "").toLowerCase();

/**
 * Lines `file,number` with commas, semicolons or tabs, under a head where there is one, or a number for each file in their
 * order. Files that no line names have no value; throws what was expected.
 */
export function parseColumn(text: string, files: readonly string[]): CustomColumn {
  if (text.length > MAX_COLUMN_CHARACTERS) throw new Error(`expected at most ${MAX_COLUMN_CHARACTERS.toLocaleString("en")} characters, found ${text.length.toLocaleString("en")}`);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "").slice(0, MAX_VALUES + 1);
  const separator = separatorOf(lines.join("\n"));
  const rows = lines.map((line) => splitLine(line, separator));
  const place = rows[0]?.findIndex((cell) => Number.isFinite(valueIn(cell))) ?? -1;
  const head = rows.length > 1 && place < 0 ? rows.shift() : undefined;
  const name = (head?.[1] ?? head?.[0] ?? DEFAULT_NAME).slice(0, MAX_NAME);
  const is_list = rows.every((row) => row.length === 1);
  const n_fields = head?.length ?? (is_list ? 1 : 2);
  const numbers = rows.map((row, i) => {
    const value = valueIn(row[is_list ? 0 : 1] ?? "");
    const line_words = `line ${i + 1 + (head ? 1 : 0)}: found \`${row.join(separator).slice(0, 80)}\``;
    // With commas between fields, a decimal comma makes two fields of one number.
    if (row.length > n_fields) throw new Error(`${line_words}, expected ${n_fields} fields: put semicolons between fields where numbers have commas`);
    if (!Number.isFinite(value)) throw new Error(`${line_words}, expected for example \`model.tflite,71.5\``);
    return value;
  });
  const by_stem = new Map(numbers.map((value, i) => [stem(rows[i][0]), value]));
  const named = files.map((file, i) => [file, is_list ? numbers[i] : by_stem.get(stem(file))] as const);
  const values = named.filter((entry): entry is [string, number] => entry[1] !== undefined);
  if (values.length === 0) throw new Error(`expected a line for one of the files, such as \`${files[0] ?? "model.tflite"},71.5\`, found none of them`);
  return { name, is_more_better: true, values: Object.fromEntries(values) };
}

/** With a percent sign or without. */
function valueIn(cell: string): number {
  return numberOf(cell.endsWith("%") ? cell.slice(0, -1) : cell);
}
