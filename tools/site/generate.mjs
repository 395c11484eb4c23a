/**
 * Writes the sources of the documentation site: the documents of this repository, and pages from data, which the command
 * prints. Usage: node tools/site/generate.mjs COMMAND OPERATORS FOLDER, where OPERATORS has a file for each operator.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { explained } from "./codes.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [command, operators, out] = process.argv.slice(2).map((argument) => path.resolve(argument));
const EXAMPLES = path.join(root, "www/examples");
const MAX_OUTPUT_BYTES = 1 << 29;

const read = (file) => readFileSync(path.join(root, file), "utf8");

function litecast(...args) {
  try {
    return execFileSync(command, args, { encoding: "utf8", maxBuffer: MAX_OUTPUT_BYTES, stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, COLUMNS: "100", NO_COLOR: "1" } });
  } catch (error) {
    // 1: a file has no report, which its line says.
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

const lines = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Documents of the repository by their place on the site, in the order of the menu. */
const GUIDE = ["install", "command", "page", "package", "onnx", "ncnn", "graph-json", "operators", "your-own-device"];
const METHOD = ["accuracy", "ethos-u", "keras-layers", "processors", "microcontrollers", "gpu", "learned-accelerators", "devices-from-profiles", "design-spaces", "labels", "dataset", "training", "evaluation", "performance", "fuzzing"];
const PROJECT = { "ARCHITECTURE.md": "architecture", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "SECURITY.md": "security", "CODE_OF_CONDUCT.md": "conduct", "docs/releasing.md": "releasing" };
const PACKAGES = { "www/package/README.md": "javascript", "python/README.md": "python" };
const GENERATED = { targets: "Targets and their errors", operators: "Operators by target", diagnostics: "Diagnostics, reasons and errors", report: "The report's schema", manual: "The command's manual" };

const pages = new Map([
  ["README.md", "index.md"],
  ...GUIDE.map((name) => [`docs/guide/${name}.md`, `guide/${name}.md`]),
  ...Object.entries(PACKAGES).map(([file, name]) => [file, `guide/${name}.md`]),
  ...METHOD.map((name) => [`docs/method/${name}.md`, `method/${name}.md`]),
  ...Object.entries(PROJECT).map(([file, name]) => [file, `project/${name}.md`]),
]);
for (const folder of ["guide", "method"]) for (const name of readdirSync(path.join(root, "docs", folder))) if (!pages.has(`docs/${folder}/${name}`)) throw new Error(`docs/${folder}/${name} is in no menu of tools/site/generate.mjs`);

const [, address] = /^repository = "(.*)"$/m.exec(read("Cargo.toml")) ?? [];

/** A link of a document as the site has it: to a page, a picture, or the file in the repository where that has an address. */
function link(file, whole, text, target) {
  if (/^[a-z]+:|^#/.test(target)) return whole;
  const [to, anchor] = target.split("#");
  const linked = path.posix.join(path.posix.dirname(file), to);
  const here = path.posix.dirname(pages.get(file));
  if (pages.has(linked)) return `[${text}](${path.posix.relative(here, pages.get(linked)) || "index.md"}${anchor ? `#${anchor}` : ""})`;
  if (/\.(png|svg)$/.test(linked)) {
    copyFileSync(path.join(root, linked), path.join(out, "pictures", path.basename(linked)));
    return `[${text}](${path.posix.relative(here, `pictures/${path.basename(linked)}`)})`;
  }
  return address ? `[${text}](${address}/blob/main/${linked}${anchor ? `#${anchor}` : ""})` : text;
}

function document(file) {
  const parts = read(file).split(/(^```[^]*?^```$)/m);
  return parts.map((part, i) => (i % 2 ? part : part.replace(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, text, target) => link(file, whole, text, target)))).join("");
}

function write(name, text) {
  const file = path.join(out, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const cell = (text) => String(text ?? "").replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ");
const table = (head, rows) => [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
const code = (text) => `\`${text}\``;

/** What a number rests on, by target and metric, from reports of the examples. */
function grades(targets) {
  const chosen = targets.map(({ id }) => `--target=${id}`);
  const found = new Map();
  for (const { results } of lines(litecast("predict", "--json", ...chosen, EXAMPLES))) for (const { target, metric, evidence } of results ?? []) if (evidence) found.set(`${target} ${metric}`, evidence);
  return found;
}

function targetsPage(targets) {
  const grade = grades(targets);
  const percent = (error) => (error === null || error === undefined ? "not measured" : `${Number(error.toPrecision(2))} %`);
  const rows = targets.flatMap(({ id, device, metrics }) => metrics.map(({ metric, unit, expected_error_percent: error }, i) => [i ? "" : code(id), i ? "" : device, metric.replaceAll("_", " "), unit, percent(error), grade.get(`${id} ${metric}`) ?? ""]));
  const schema = JSON.parse(read("src/report/report.schema.json")).$defs.Evidence.oneOf;
  return `# Targets and their errors

From \`litecast targets --json\`: ${targets.length} targets. The error is the mean absolute percentage error on graphs that were held
out of training or fit, single errors above 100 % counted as that. [Accuracy](../method/accuracy.md) says what each was
compared with. Beside these, any Ethos-U in any system configuration and memory mode is a target.

${table(["Target", "Device", "Metric", "Unit", "Mean error", "Rests on"], rows)}

## What a number rests on

${table(["Word", "Meaning"], schema.map(({ const: word, description }) => [code(word), description]))}
`;
}

/** Whether a target runs the operator of a file by itself. */
function verdict(report, target) {
  if (report.error) return "?";
  const results = report.results.filter((result) => result.target === target);
  const [latency] = results.filter(({ metric }) => metric === "latency").concat(results);
  if (!latency) return "";
  const isLeft = (report.left_out ?? []).some(({ targets }) => targets.includes(target));
  return latency.value === undefined || isLeft ? "no" : "yes";
}

function operatorsPage(targets) {
  const shown = targets.filter(({ metrics }) => metrics.some(({ metric }) => metric === "latency"));
  const chosen = shown.map(({ id }) => `--target=${id}`);
  const reports = lines(litecast("predict", "--json", ...chosen, operators)).sort((a, b) => (a.file < b.file ? -1 : 1));
  const name = ({ file }) => path.basename(file, ".tflite");
  // Targets that run the same operators share a column.
  const columns = new Map();
  for (const { id } of shown) {
    const verdicts = reports.map((report) => verdict(report, id));
    const key = verdicts.join();
    columns.set(key, { ids: [...(columns.get(key)?.ids ?? []), id], verdicts });
  }
  const all = [...columns.values()].filter(({ verdicts }) => verdicts.some(Boolean));
  const rows = reports.map((report, i) => [code(name(report)), ...all.map(({ verdicts }) => verdicts[i])]);
  return `# Operators by target

From \`litecast predict --json\` on ${reports.length} files with one kind of operator each, in the types that a quantised network
usually has, or in floats where the kind has no integers. *yes*: the target runs it. *no*: it does not, or, of a GPU, nothing
that was measured spends time on it; in a network with others, an Ethos-U or Edge TPU leaves it to the processor beside it. Types, sizes
and options decide as well: a report says of each operator why it does not run.

${all.map(({ ids }, i) => `- **${i + 1}**: ${ids.map(code).join(", ")}`).join("\n")}

${table(["Operator", ...all.map((_, i) => String(i + 1))], rows)}
`;
}

const GROUPS = {
  diagnostics: ["Diagnostics", "Beside the numbers of a report, in `diagnostics[].code`."],
  unavailable: ["Why a target has no estimate", "In `reason` of a result that has `unavailable` in the place of a value."],
  unsupported: ["Why a target does not run an operator", "In `code` of an operator that a target leaves out (`left_out`) or that no kernel runs (`refused`)."],
  errors: ["Errors", "In `error.kind` of a file without a report, and in `kind` of the packages' errors."],
};

function diagnosticsPage() {
  const entry = ([word, { meaning, do: what }]) => `### ${word}\n\n${meaning[0].toUpperCase()}${meaning.slice(1)}.\n\n*What to do:* ${what}.\n`;
  const part = ([name, [title, words]]) => `## ${title}\n\n${words}\n\n${Object.entries(explained[name]).map(entry).join("\n")}`;
  return `# Diagnostics, reasons and errors\n\nThese words are stable: a program may rely on them. Messages are not.\n\n${Object.entries(GROUPS).map(part).join("\n")}`;
}

function typeOf(schema) {
  if (schema === true || schema === undefined) return "";
  if (schema.$ref) return `[${schema.$ref.split("/").at(-1)}](#${schema.$ref.split("/").at(-1).toLowerCase()})`;
  const many = schema.anyOf ?? schema.oneOf;
  if (many) return many.map(typeOf).join(" or ");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return [schema.type].flat().filter(Boolean).join(" or ");
}

function schemaPage() {
  const { $defs } = JSON.parse(read("src/report/report.schema.json"));
  const fields = ({ properties = {}, required = [] }) => Object.entries(properties).map(([name, schema]) => [code(name), typeOf(schema), required.includes(name) ? "yes" : "", schema.description ?? ""]);
  const part = ([name, schema]) => {
    const forms = (schema.anyOf ?? schema.oneOf ?? []).filter((form) => form.properties);
    const words = (schema.oneOf ?? schema.anyOf ?? []).filter((form) => form.const !== undefined || form.enum);
    const texts = [];
    if (schema.properties || forms.length > 0) texts.push(table(["Field", "Type", "Always", "Meaning"], fields(schema)));
    forms.forEach((form, i) => texts.push(`${i ? "or" : "and either"}`, table(["Field", "Type", "Always", "Meaning"], fields(form))));
    if (words.length > 0) texts.push(table(["Value", "Meaning"], words.flatMap((form) => (form.enum ?? [form.const]).map((value) => [code(value), form.description ?? ""]))));
    if (texts.length === 0) texts.push(typeOf(schema));
    return `## ${name}\n\n${cell(schema.description)}\n\n${texts.join("\n\n")}\n`;
  };
  const rest = Object.entries($defs).filter(([name]) => name !== "Report");
  return `# The report's schema\n\nFrom the JSON Schema that \`litecast schema\` prints, and that the npm package has as \`litecast/report.schema.json\`. A line of\n\`litecast predict --json\` is a [Report](#report), or a [FailedReport](#failedreport) where the file has none.\nThe packages return a [Summary](#summary) where one is asked for.\n\n${[["Report", $defs.Report], ...rest].map(part).join("\n")}`;
}

function manualPage() {
  const help = (name) => litecast("help", ...(name ? [name] : [])).trimEnd();
  const whole = help();
  const names = [...whole.split("Commands:")[1].split("Options:")[0].matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name).filter((name) => name !== "help");
  const part = (name) => `## litecast ${name}\n\n\`\`\`text\n${help(name)}\n\`\`\`\n`;
  return `# The command's manual\n\nWhat \`litecast help\` prints. [The command](../guide/command.md) explains it by examples.\n\n\`\`\`text\n${whole}\n\`\`\`\n\n${names.map(part).join("\n")}`;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(path.join(out, "pictures"), { recursive: true });
for (const [file, place] of pages) write(place, document(file));
const targets = lines(litecast("targets", "--json"));
const texts = { targets: targetsPage(targets), operators: operatorsPage(targets), diagnostics: diagnosticsPage(), report: schemaPage(), manual: manualPage() };
for (const [name, text] of Object.entries(texts)) write(`reference/${name}.md`, text);

/** The title of a page is its first heading. */
const title = (place) => /^# (.*)$/m.exec(readFileSync(path.join(out, place), "utf8"))[1].replaceAll("`", "");
const entry = (place, name = title(place)) => `  { ${JSON.stringify(name)} = ${JSON.stringify(place)} },`;
const section = (name, places) => ` { ${JSON.stringify(name)} = [\n${places.join("\n")}\n ] },`;
const config = `[project]
site_name = "LiteCast"
site_description = "What a neural network costs on edge hardware, before any deployment"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = [
 { "Start" = "index.md" },
${section("Guide", [...GUIDE.map((name) => entry(`guide/${name}.md`)), ...Object.values(PACKAGES).map((name) => entry(`guide/${name}.md`, name === "python" ? "The Python package" : "The npm package"))])}
${section("Reference", Object.entries(GENERATED).map(([name, words]) => entry(`reference/${name}.md`, words)))}
${section("Method", METHOD.map((name) => entry(`method/${name}.md`)))}
${section("Project", Object.values(PROJECT).map((name) => entry(`project/${name}.md`)))}
]

[project.theme]
language = "en"
# Letters of the reader's machine: the site asks no other host for anything.
font = false
features = ["navigation.sections", "navigation.footer", "navigation.top", "navigation.path", "search.highlight", "content.code.copy", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.markdown_extensions]
attr_list = {}
toc.permalink = true
pymdownx.superfences = {}
pymdownx.highlight.pygments_lang_class = true
`;
writeFileSync(path.join(path.dirname(out), "zensical.toml"), config);
const n_pages = pages.size + Object.keys(texts).length;
console.log(`${n_pages} pages, ${Object.keys(texts).length} of them from data: ${targets.length} targets, ${readdirSync(operators).filter((name) => statSync(path.join(operators, name)).isFile()).length} operators, ${Object.values(explained).flatMap(Object.keys).length} codes`);
if (!existsSync(path.join(out, "index.md"))) throw new Error("no start page");
