/**
 * Packs dataset and predictor as two folders, each with the card that hubs read: a README.md that begins with metadata.
 * Usage: node tools/hub/pack.mjs FOLDER [NAME]. Upload them with `hf upload NAME/litecast FOLDER/dataset --repo-type dataset` and
 * `hf upload NAME/litecast-predictor FOLDER/model`.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [folder, account = "OWNER"] = process.argv.slice(2);
if (folder === undefined) throw new Error("expected a folder");
const out = path.resolve(folder);

const read = (file) => readFileSync(path.join(root, file), "utf8");
const [, version] = /^\[workspace\.package\]\nversion = "(.*)"$/m.exec(read("Cargo.toml"));
const [, address] = /^repository = "(.*)"$/m.exec(read("Cargo.toml")) ?? [];
const table = (head, rows) => [head, head.map((_, i) => (i ? "---:" : "---")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** A text without links that lead out of a folder: to the repository where it has an address, or the words alone. */
function within(text, base, files) {
  return text.replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, picture, words, target) => {
    const [to] = target.split("#");
    if (to === "" || /^[a-z]+:/.test(target) || files.includes(to)) return whole;
    const linked = path.posix.join(base, to);
    return address ? `${picture}[${words}](${address}/blob/main/${linked})` : words;
  });
}

function write(part, front, card, files) {
  const at = (name) => path.join(out, part, name);
  for (const [name, file] of files) {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    copyFileSync(path.join(root, file), at(name));
  }
  writeFileSync(at("README.md"), `---\n${stringify(front, { lineWidth: 0 })}---\n\n${card}`);
  const names = ["README.md", ...files.map(([name]) => name)].sort();
  const sums = names.map((name) => `${createHash("sha256").update(readFileSync(at(name))).digest("hex")}  ${name}\n`);
  writeFileSync(at("SHA256SUMS"), sums.join(""));
}

function dataset() {
  const data = path.join(root, "trainer/data");
  const here = readdirSync(data).filter((name) => /\.(parquet|svg)$/.test(name));
  const below = ["gpu", "processors"].flatMap((folder) => readdirSync(path.join(data, folder)).map((name) => `${folder}/${name}`));
  const names = [...here, ...below];
  const card = read("trainer/data/README.md");
  const [, n_operators] = /as graphs of (\d+) operators/.exec(card);
  const front = {
    license: "apache-2.0",
    pretty_name: "LiteCast: what neural networks cost on edge hardware",
    tags: ["latency", "energy", "memory", "edge", "npu", "tflite", "onnx", "performance-prediction", "graphs"],
    task_categories: ["graph-ml", "tabular-regression"],
    size_categories: [Number(n_operators) < 1e6 ? "100K<n<1M" : "1M<n<10M"],
    configs: ["graphs", "labels", "operators"].map((name) => ({ config_name: name, data_files: `${name}.parquet`, ...(name === "graphs" ? { default: true } : {}) })),
  };
  write("dataset", front, within(card, "trainer/data", names), [...names.map((name) => [name, `trainer/data/${name}`]), ["LICENSE", "LICENSE"]]);
}

function model() {
  const { outputs, errors, training, feature_schema_id } = JSON.parse(read("bundle/manifest.json"));
  const whole = errors.filter(({ space }) => space === "all");
  const unit = new Map(outputs.map(({ target, metric, unit: words }) => [`${target} ${metric}`, words]));
  const shown = outputs.flatMap(({ target, metric }) => whole.filter((error) => error.target === target && error.metric === metric));
  const sum = (side) => training.n_graphs.reduce((all, space) => all + space[side], 0);
  const round = (value) => Number(value.toPrecision(3));
  const front = {
    license: "apache-2.0",
    library_name: "onnx",
    pipeline_tag: "graph-ml",
    tags: ["latency", "energy", "memory", "edge", "npu", "performance-prediction", "graph-neural-network"],
    datasets: [`${account}/litecast`],
    metrics: ["mape"],
    "model-index": [{
      name: "litecast-predictor",
      results: shown.map(({ target, metric, mape, median_ape }) => ({
        task: { type: "graph-ml", name: `${metric} on ${target}` },
        dataset: { type: `${account}/litecast`, name: "held-out graphs of all design spaces", split: "test" },
        metrics: [{ type: "mape", value: round(mape), name: "mean absolute percentage error" }, { type: "median_ape", value: round(median_ape), name: "median absolute percentage error" }],
      })),
    }],
  };
  const rows = shown.map(({ target, metric, mape, median_ape, p95_ape, n }) => [target, `${metric} (${unit.get(`${target} ${metric}`)})`, round(mape), round(median_ape), round(p95_ape), n]);
  const [{ provenance: { tool, version: of_tool } }] = outputs;
  const card = `# LiteCast's predictor

A graph neural network that estimates ${new Set(outputs.map(({ metric }) => metric)).size} metrics of a network on ${new Set(outputs.map(({ target }) => target)).size} NPUs, from the features of its operators. LiteCast
${version} can run it (\`Predictor\` of the crate), but no report shows it: its reproduction of the compiler's rules is as accurate on
every kind of graph (\`docs/method/evaluation.md\`).

## Use

\`predictor.onnx\` takes what \`litecast\` extracts from a \`.tflite\` or \`.onnx\` file (feature table \`${feature_schema_id}\`), and
not a file itself: use it through the command, \`npm install litecast\` or \`pip install litecast\`, which contain it. Its manifest has
columns, scales, intervals, the ranges of the training set and the errors below for each design space.

## Errors

Absolute percentage error against ${tool} ${of_tool}, on graphs whose structures were held out of training; no error is capped.
Random operators are among them, which no network is made of.

${table(["Target", "Metric", "Mean, %", "Median, %", "95th percentile, %", "Graphs"], rows)}

These are errors against a compiler's estimate, not against silicon.

## Training

On ${sum("training").toLocaleString("en")} graphs (${sum("validation").toLocaleString("en")} for early stopping, ${sum("test").toLocaleString("en")} for testing), seed ${training.seed}, by \`make bundle\` in the project's repository,
which takes half an hour on two cores. The dataset is \`${account}/litecast\`.

## Limits

Networks unlike those of the training set have a wider interval, by their distance from it, or none. The network knows the
NPUs above in Vela's default configurations alone.
`;
  const names = ["predictor.onnx", "manifest.json"];
  write("model", front, card, [...names.map((name) => [name, `bundle/${name}`]), ["LICENSE", "LICENSE"]]);
}

rmSync(out, { recursive: true, force: true });
dataset();
model();
console.log(`packed ${path.join(out, "dataset")} and ${path.join(out, "model")}${account === "OWNER" ? "; the cards name OWNER in the place of an account" : ""}`);
