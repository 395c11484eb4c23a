/** A column of one's own for a comparison: pasted, read from a table of files, or typed into its cells. */
import { el } from "../dom.ts";
import { MAX_COLUMN_CHARACTERS, type CustomColumn, parseColumn } from "../custom_column.ts";
import { onFileDropped } from "./file_drop.ts";

/** `change` is called with the new column, or null for none. */
export function columnForm(column: CustomColumn | null, files: () => readonly string[], change: (column: CustomColumn | null) => void): HTMLElement {
  const words = el("p", { class: "doubt", role: "status" });
  const text = el("textarea", { id: "column-text", "aria-label": "Lines of file and number", placeholder: `file,accuracy\n${files()[0] ?? "model.tflite"},71.5`, spellcheck: "false" });
  const read = (given: string): void => {
    try {
      change({ ...parseColumn(given, files()), is_more_better: better.value === "more" });
    } catch (error) {
      words.textContent = (error as Error).message;
    }
  };
  const readFile = async (file: File): Promise<void> => read(await file.slice(0, MAX_COLUMN_CHARACTERS + 1).text());
  const picker = el("input", { type: "file", id: "column-file", accept: ".csv,.tsv,.txt,text/csv", hidden: true, onchange: () => void (picker.files?.[0] && readFile(picker.files[0])) });
  const better = el("select", { id: "column-better", "aria-label": "Which numbers are better", onchange: () => column && change({ ...column, is_more_better: better.value === "more" }) }, el("option", { value: "more", selected: column?.is_more_better !== false }, "more is better"), el("option", { value: "less", selected: column?.is_more_better === false }, "less is better"));
  const body = el(
    "div",
    { class: "panel" },
    el("p", { class: "subtle" }, "A line for each file with its name and a number, or a number for each in the order of the table. It stays in this browser."),
    text,
    el(
      "p",
      { class: "buttons" },
      el("button", { type: "button", id: "column-read", class: "primary", onclick: () => read(text.value) }, column ? "Replace" : "Add"),
      el("button", { type: "button", onclick: () => change(column ?? { name: "Accuracy", is_more_better: true, values: {} }) }, "Type into cells"),
      el("button", { type: "button", onclick: () => picker.click() }, "Read a CSV…"),
      picker,
      better,
      column ? el("button", { type: "button", onclick: () => change(null) }, "Remove") : null,
    ),
    words,
  );
  onFileDropped(body, /\.csv$/i, (file) => void readFile(file));
  return el("details", { class: "column-form", id: "column-form" }, el("summary", {}, column ? `Column: ${column.name}` : "Add a column"), body);
}
