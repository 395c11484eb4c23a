/** Figures of the documents beside their sources: constants, tables of results, and the sizes of what was built. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file) => readFileSync(path.join(root, file), "utf8");
const json = (file) => JSON.parse(read(file));

/** The text of a document on one line, so that a sentence is found wherever it wraps. */
const flat = (file) => read(file).replace(/\s+/g, " ");

/** Rows of the tables of a document, as lists of cells. */
function rows(file) {
  const lines = read(file).split("\n").filter((line) => line.startsWith("|") && !/^\|[\s|:-]+$/.test(line));
  return lines.map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
}

const numbers = (text) => [...text.replaceAll("−", "-").matchAll(/-?\d[\d,]*(?:\.\d+)?/g)].map(([number]) => number.replaceAll(",", ""));

/** Whether a figure is the value, rounded to the digits that it has. */
function isRounded(figure, value) {
  const digits = figure.split(".")[1]?.length ?? 0;
  return Math.abs(Number(figure) - value) <= 0.5 * 10 ** -digits * (1 + 1e-9);
}

let n_checked = 0;

function assertFigures(found, values, place) {
  assert.equal(found.length, values.length, `${place}: ${found.join(" ")} beside ${values.join(" ")}`);
  for (const [i, value] of values.entries()) {
    n_checked += 1;
    assert.ok(isRounded(found[i], value), `${place}: ${found[i]}, its source has ${value}`);
  }
}

/** A sentence whose figures are captured, in order. */
function assertSentence(file, sentence, values) {
  const match = sentence.exec(flat(file));
  assert.ok(match, `${file}: no sentence ${sentence}`);
  const place = `${file}: ${match[0]}`;
  const digits = (figure) => (NUMBER_WORDS.includes(figure) ? String(NUMBER_WORDS.indexOf(figure)) : figure.replaceAll(",", ""));
  assertFigures(match.slice(1).map(digits), values, place);
}

const NUMBER_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

const processors = new Map(json("src/targets/cortex_a/constants.json").boards.map((board) => [board.target, board]));
const error = (target, precision) => processors.get(target)[precision].left_out.mean_percent;
const microcontrollers = json("src/targets/cortex_m/constants.json").targets;
const edge_tpu = json("src/targets/edge_tpu/constants.json");
const gpus = json("bundle/gpu.json").runs;
const gpu = (target, mode) => gpus.find((run) => run.target === target && run.mode === mode);

/** A row of `trainer/results/estimates.md` in its default configuration: `graphs` as the table has them. */
const estimates = rows("trainer/results/estimates.md");
const CONFIGURATIONS = { "U55-256": "ethos-u55-256 Ethos_U55_High_End_Embedded, Shared_Sram", "U65-512": "ethos-u65-512 Ethos_U65_High_End, Dedicated_Sram_384KB", "U85-256": "ethos-u85-256 Ethos_U85_SYS_DRAM_Mid, Dedicated_Sram_384KB" };
function estimated(npu, metric, graphs) {
  const row = estimates.find(([configuration, found_metric, found_graphs]) => configuration === CONFIGURATIONS[npu] && found_metric === metric && found_graphs === graphs);
  assert.ok(row, `${npu} ${metric} ${graphs}`);
  const [, , , n, rules, inside, width] = row;
  return { n: Number(n), rules: numbers(rules).map(Number), inside: Number(numbers(inside)[0]), width: Number(numbers(width)[0]) };
}
const METRICS = { latency: "latency", "SRAM peak": "sram_peak", "off-chip traffic": "offchip_traffic" };
const NETWORKS = "held-out networks";
const FILES = "files, family left out of the widths";
const OPERATORS = "held-out random operators";

test("the README's table of errors is that of the results", () => {
  const table = rows("README.md").filter(([target]) => /^Ethos-U\d\d-\d+$/.test(target));
  assert.equal(table.length, 6);
  for (const [target, graphs, ...cells] of table) {
    const npu = target.replace("Ethos-", "");
    const kind = graphs === "networks" ? NETWORKS : FILES;
    const [latency, sram, traffic] = ["latency", "sram_peak", "offchip_traffic"].map((metric) => estimated(npu, metric, kind));
    const expected = [latency, sram, traffic].map(({ rules: [mean, median] }) => [mean, median]);
    for (const [i, cell] of cells.entries()) assertFigures(numbers(cell), expected[i], `README.md: ${target} ${graphs}`);
    if (kind === FILES) assertFigures(numbers(graphs), [latency.n], `README.md: ${target} ${graphs}`);
  }
});

test("the README's sentences have the figures of constants and results", () => {
  const npus = Object.keys(CONFIGURATIONS);
  const metrics = Object.values(METRICS);
  const of = (graphs) => npus.flatMap((npu) => metrics.map((metric) => estimated(npu, metric, graphs).inside));
  const random = npus.map((npu) => estimated(npu, "latency", OPERATORS).rules[0]);
  assertSentence("README.md", /on ([\d,]+) held-out networks of (\d+) families/, [estimated("U55-256", "latency", NETWORKS).n, 28]);
  assertSentence("README.md", /mean error of latency is ([\d.]+) to ([\d.]+) %/, [Math.min(...random), Math.max(...random)]);
  const [whole, operators] = [[...of(NETWORKS), ...of(FILES)], of(OPERATORS)];
  assertSentence("README.md", /contained (\d+) to (\d+) % of these\s+values, and (\d+) to (\d+) % of those of random operators/, [Math.min(...whole), Math.max(...whole), Math.min(...operators), Math.max(...operators)]);
  const pi = ["cortex-a76-rpi5", "cortex-a72-rpi4"].flatMap((target) => ["float32", "int8"].map((precision) => error(target, precision)));
  const nxp = ["cortex-a55-imx93", "cortex-a53-imx8mp"].map((target) => error(target, "int8"));
  assertSentence("README.md", /mean error ([\d.]+) to ([\d.]+) % on Raspberry Pis, ([\d.]+) to ([\d.]+) % on i\.MX and ([\d.]+) % on an STM32MP1/, [Math.min(...pi), Math.max(...pi), Math.min(...nxp), Math.max(...nxp), error("cortex-a7-stm32mp157", "int8")]);
  const st = microcontrollers.filter(({ runtime }) => runtime === "st-edge-ai").map(({ stated_percent }) => stated_percent);
  assertSentence("README.md", /ST Edge AI in the same way \((\d+) to (\d+) %, all releases together;/, [Math.min(...st), Math.max(...st)]);
  assert.equal(edge_tpu.leave_one_out.n, 7);
  assertSentence("README.md", /the Edge TPU with seven published latencies \(([\d.]+) %\)/, [edge_tpu.leave_one_out.mean_percent]);
  const [inference, training] = ["inference", "training"].map((mode) => gpu("rtx-3090", mode).errors.mean_percent);
  assertSentence("README.md", /families of networks left out \(([\d.]+) % in inference, ([\d.]+) % in training\)/, [inference, training]);
});

test("accuracy.md has the rows of the results", () => {
  const names = Object.fromEntries(Object.entries(METRICS));
  const left_out = (kind) => `${kind}, family left out`;
  const kinds = { networks: NETWORKS, "random operators": OPERATORS, ...Object.fromEntries(["networks", "layers"].map((kind) => [left_out(kind), `${left_out(kind)} of the widths`])) };
  let n_rows = 0;
  for (const [target, metric, graphs, ...cells] of rows("docs/method/accuracy.md")) {
    if (!(target in CONFIGURATIONS) || !(metric in names)) continue;
    n_rows += 1;
    const place = `docs/method/accuracy.md: ${target} ${metric} ${graphs}`;
    if (graphs in kinds) {
      const { n, rules, inside, width } = estimated(target, names[metric], kinds[graphs]);
      const short = ([mean, median, , p95]) => [mean, median, p95];
      const [n_cell, ...others] = cells;
      assertFigures(numbers(n_cell), [n], place);
      for (const [i, expected] of [short(rules), [inside], [width]].entries()) assertFigures(numbers(others[i]), expected, place);
    } else {
      const { n, rules, inside, width } = estimated(target, names[metric], FILES);
      assertFigures(numbers(graphs), [n], place);
      for (const [i, expected] of [rules, [inside], [width]].entries()) assertFigures(numbers(cells[i]), expected, place);
    }
  }
  assert.equal(n_rows, 45);
  // The trained network alone, of the table that `make bundle` writes.
  const [head, ...lines] = read("trainer/results/per-operator.csv").trim().split("\n").map((line) => line.split(","));
  const trained = lines.map((line) => Object.fromEntries(line.map((cell, i) => [head[i], cell])));
  for (const [target, metric, ...cells] of rows("docs/method/accuracy.md").filter(([target]) => /^ethos-u\d\d-\d+$/.test(target))) {
    const name = { latency: "latency", "SRAM peak": "sram_peak", "off-chip traffic": "offchip_traffic", "SRAM traffic": "sram_traffic" }[metric];
    const row = trained.find((row) => row.target === target && row.metric === name && row.space === "networks");
    assertFigures(cells.slice(0, 3).flatMap(numbers), [row.mape, row.median_ape, row.p95_ape].map(Number), `docs/method/accuracy.md: ${target} ${metric}`);
  }
  const of = (precision) => ["cortex-a76-rpi5", "cortex-a72-rpi4"].map((target) => error(target, precision));
  const nxp = ["cortex-a55-imx93", "cortex-a53-imx8mp"].map((target) => error(target, "int8"));
  assertSentence("docs/method/accuracy.md", /The mean errors are ([\d.]+) % and ([\d.]+) % \(float32\) and ([\d.]+) % and ([\d.]+) % \(int8\) on the Raspberry Pi 5 and 4, ([\d.]+) % and ([\d.]+) % on the i\.MX 93 and 8M Plus, and ([\d.]+) % on the STM32MP157/, [...of("float32"), ...of("int8"), ...nxp, error("cortex-a7-stm32mp157", "int8")]);
  const coverage = [...processors.values()].flatMap((board) => [board.float32, board.int8].filter(Boolean).map(({ coverage_percent }) => coverage_percent));
  assertSentence("docs/method/accuracy.md", /made without a network's kind hold (\d+) to (\d+) % of networks on each board/, [Math.min(...coverage), Math.max(...coverage)]);
  const { mean_percent, median_percent, worst_percent } = edge_tpu.leave_one_out;
  assertSentence("docs/method/accuracy.md", /off by ([\d.]+) % in the mean \(([\d.]+) % in the median\) and ([\d.]+) % at worst/, [mean_percent, median_percent, worst_percent]);
});

test("processors.md, microcontrollers.md and gpu.md have the figures of their constants", () => {
  let n_rows = 0;
  for (const [target, precision, , errors, interval, held, speedups] of rows("docs/method/processors.md")) {
    const board = processors.get(target.replaceAll("`", ""))?.[precision];
    if (!board) continue;
    n_rows += 1;
    const place = `docs/method/processors.md: ${target} ${precision}`;
    const { mean_percent, median_percent, p95_percent } = board.left_out;
    assertFigures(numbers(errors), [mean_percent, median_percent, p95_percent], place);
    assertFigures(numbers(interval), [board.interval_factor], place);
    assertFigures(numbers(held), [board.coverage_percent], place);
    const factors = numbers(speedups.split("×")[1] ?? "");
    assertFigures(factors, factors.map((_, i) => board.speedups[i + 1]), place);
  }
  assert.equal(n_rows, 7);
  const coverage = (target) => microcontrollers.find((of) => of.target === target).coverage_percent;
  assertSentence("docs/method/microcontrollers.md", /\((\d+) % on the M7, (\d+) % on the M4, (\d+) % on the NPU\)/, ["cortex-m7-stm32h747", "cortex-m4-stm32l4r5", "stm32n6"].map(coverage));
  const { releases: st_releases } = json("src/targets/cortex_m/constants.json").runtimes.find(({ id }) => id === "st-edge-ai");
  const by_core = st_releases.flatMap(({ id, cycles_factor, cores }) => Object.entries(cores).map(([core, errors]) => ({ id, core, cycles_factor, errors })));
  for (const { id, core, cycles_factor, errors } of by_core) {
    const row = rows("trainer/results/mcu.md").find(([release, , , of]) => release === id && of === core);
    assert.ok(row, `trainer/results/mcu.md: ${id} ${core}`);
    const { network_left_out, family_left_out, n_networks } = errors;
    const of = ({ mean_percent, median_percent, p95_percent, worst_percent }) => [mean_percent, median_percent, p95_percent, worst_percent];
    assertFigures([row[2], ...row.slice(4)], [cycles_factor, network_left_out.n, n_networks, ...of(network_left_out), ...of(family_left_out)], `trainer/results/mcu.md: ${id} ${core}`);
  }
  assert.ok(by_core.length >= 10);
  const memory = new Map(rows("trainer/results/st-memory.md").filter(([what]) => what === "activation RAM").map(([, release, ...cells]) => [release, cells]));
  const releases = rows("docs/method/microcontrollers.md").filter(([release]) => memory.has(release) && release !== "");
  assert.ok(releases.length >= 6);
  for (const [release, ...cells] of releases.filter((cells) => cells.length === 7)) {
    const [n, mean, median, , worst, shown, held] = memory.get(release).map((cell) => Number(numbers(cell)[0]));
    assertFigures(cells.flatMap(numbers), [n, mean, median, worst, shown, held], `docs/method/microcontrollers.md: release ${release}`);
  }
  let n_gpus = 0;
  const finals = json("trainer/results/final/gpu.json").runs;
  for (const [name, count, ...cells] of rows("docs/method/gpu.md")) {
    const final = finals.find(({ target, mode }) => name === `${target} ${mode}`);
    if (!final || cells.length !== 7) continue;
    n_gpus += 1;
    const place = `docs/method/gpu.md: ${name}`;
    const { errors, errors_of_regression: regression } = final;
    const stated = gpu(final.target, final.mode).errors;
    for (const [what, value] of Object.entries(errors)) assert.ok(Math.abs(stated[what] - value) < 1e-9, `${place}: the bundle states the errors of the final families`);
    assertFigures(numbers(count), [final.n_networks, final.n_families], place);
    const means = ({ mean_percent, family_mean_percent, median_percent }) => [mean_percent, family_mean_percent, median_percent];
    assertFigures(cells.flatMap(numbers), [...means(errors), errors.p95_percent, errors.coverage_percent, final.interval_factor, ...means(regression)], place);
  }
  assert.ok(n_gpus >= 10, `${n_gpus}`);
});

test("ethos-u.md has the measured board's constants and errors", () => {
  const { boards: [board, ...others], elsewhere } = json("src/targets/ethos_u/silicon.json");
  const { left_out, networks, factor, start_ms, start_range_ms } = board;
  const measured = rows("docs/method/ethos-u.md").filter((cells) => cells.length === 5 && /, (?:the file itself|rebuilt)$/.test(cells[0]));
  assert.equal(measured.length, networks.length);
  const errors = [];
  for (const [i, [name, measured_ms, rules_ms, ratio, error]] of measured.entries()) {
    const place = `docs/method/ethos-u.md: ${name}`;
    assertFigures([ratio], [networks[i].ratio], place);
    // The ratio is that of its row, as far as its digits tell.
    assert.ok(Math.abs(Number(measured_ms) / Number(rules_ms) / networks[i].ratio - 1) < 0.02, place);
    errors.push(Math.abs(Number(numbers(error)[0])));
  }
  assertSentence("docs/method/ethos-u.md", /taken to need ([\d.]+) times the rules' latency, and ([\d.]+) ms each time/, [factor, start_ms]);
  assertSentence("docs/method/ethos-u.md", /The median error is ([\d.]+) %, the mean ([\d.]+) %, the worst ([\d.]+) %/, [left_out.median_percent, left_out.mean_percent, left_out.worst_percent]);
  assert.ok(Math.abs(errors.reduce((sum, error) => sum + error) / errors.length - left_out.mean_percent) < 0.06);
  const ratios = rows("docs/method/ethos-u.md").filter((row) => row.length === 4 && /^(Alif E8|Renesas EK-RA8P1)/.test(row[0]));
  assertFigures(ratios.map((row) => row[2]), others.map(({ networks }) => networks[0].ratio), "docs/method/ethos-u.md: other boards");
  assertSentence("docs/method/ethos-u.md", /assumed to be ([\d.]+) times the rules' latency.*Its interval is a factor of ([\d.]+):/, [elsewhere.factor, elsewhere.interval_factor]);
  assertSentence("docs/method/ethos-u.md", /an interval of its own, from ([\d.]+) to ([\d.]+) ms/, start_range_ms);
  assertSentence("docs/method/ethos-u.md", /an interval of a factor of ([\d.]+),.*Together they hold (\w+) of the (\w+) networks/, [left_out.interval_factor, left_out.n_inside, networks.length]);
});

test("evaluation.md and training.md have the figures of ablations and manifest", () => {
  const of = (file, changed) => {
    const row = rows(file).find(([name]) => name === changed);
    assert.ok(row, `${file}: ${changed}`);
    const [networks, all] = row.slice(-2).map((cell) => Number(numbers(cell)[0]));
    return { networks, all };
  };
  const ablation = (changed) => of("trainer/results/ablations-per-operator.md", changed);
  const whole = ablation("as it is");
  const hybrid = ablation("hybrid loss in place of logarithms");
  assertSentence("docs/method/evaluation.md", /latency error of networks after four epochs is ([\d.]+) %\. It is ([\d.]+) % without Vela's rules, ([\d.]+) % without labels of operators, and ([\d.]+) % without upsampling/, [whole, ablation("no rules of the compiler"), ablation("labels of graphs alone"), ablation("no upsampling of small spaces")].map(({ networks }) => networks));
  assertSentence("docs/method/evaluation.md", /hybrid loss it is ([\d.]+) %, but the error on all graphs, random operators included, rises from ([\d.]+) to ([\d.]+) %/, [hybrid.networks, whole.all, hybrid.all]);
  const small = ["one first layer for all kinds of operators (no CFE)", "no statistics of weights", "PCGrad in place of summed gradients"];
  const [, most] = /change it by at most ([\d.]+) %/.exec(flat("docs/method/evaluation.md"));
  for (const changed of small) assert.ok(Math.abs(ablation(changed).networks - whole.networks) <= Number(most) + 1e-9, changed);
  const { settings, n_graphs } = json("bundle/manifest.json").training;
  const n_training = n_graphs.reduce((sum, { training }) => sum + training, 0);
  const shares = [1 - settings.validation_share - settings.test_share, settings.validation_share, settings.test_share].map((share) => 100 * share);
  assertSentence("docs/method/training.md", /([\d.]+) % for training, ([\d.]+) % for early stopping, ([\d.]+) % for testing/, shares);
  assertSentence("docs/method/training.md", /Training on ([\d,]+) graphs/, [n_training]);
  assertSentence("docs/method/training.md", /([\d.]+) % of the operators of a training batch get the category "other"/, [100 * settings.category_dropout]);
});

test("labels.md has the configurations that the bundle was trained for, onnx.md sums that are right", () => {
  const trained = [...new Map(json("bundle/manifest.json").outputs.map(({ target, provenance }) => [target, provenance]).filter(([, provenance]) => provenance)).entries()];
  const labelled = rows("docs/method/labels.md").filter(([target]) => /^`ethos-u\d\d-\d+`$/.test(target) && target !== "").filter((cells) => cells.length === 5);
  assert.equal(labelled.length, 3);
  for (const [target, provenance] of trained) {
    const row = labelled.find(([cell]) => cell === `\`${target}\``);
    assert.ok(row, target);
    for (const section of provenance.configuration.split(", ")) assert.ok(row.some((cell) => cell.includes(section)), `docs/method/labels.md: ${target} ${section}`);
  }
  assert.ok(trained.length > 0);
  const sample = rows("docs/guide/onnx.md").filter((cells) => cells.length === 6 && /^\d+$/.test(cells[1]));
  assert.ok(sample.length >= 8);
  const printed = json("trainer/results/onnx-sample.json").map((row) => [row.group, row.networks, row.exported, row.read, row.within_1_percent, `${row.largest_difference_percent.toFixed(2)} %`].map(String));
  assert.deepEqual(sample, printed);
  n_checked += 5 * sample.length;
  const more = sample.reduce((sum, [, , , read, within]) => sum + Number(read) - Number(within), 0);
  const words = ["No", "One", "Two", "Three", "Four", "Five", "Six"];
  assert.match(flat("docs/guide/onnx.md"), new RegExp(`${words[more]} networks? differs? by more than 1 %`));
});

/** A size is stated in MB with as many decimals as it has to be right in. */

function assertSize(file, sentence, bytes) {
  const match = sentence.exec(flat(file));
  assert.ok(match, `${file}: no sentence ${sentence}`);
  const n_decimals = match[1].split(".")[1]?.length ?? 0;
  n_checked += 1;
  console.log(`${file}: ${match[0]} (${bytes} bytes)`);
  assert.equal(match[1], (bytes / 1e6).toFixed(n_decimals), `${file}: ${match[0]}, built were ${bytes} bytes`);
}

function assertModuleSize(name, raw, compressed) {
  assertSize("docs/method/performance.md", new RegExp(`${name}, raw, brotli \\| ([\\d.]+) MB`), raw);
  assertSize("docs/method/performance.md", new RegExp(`${name}, raw, brotli \\| [\\d.]+ MB, ([\\d.]+) MB`), compressed);
}

test("sizes are those of what is in the repository and of what was built", () => {
  const [archive] = /npm package, packed \| ([\d.]+) MB/.exec(flat("docs/method/performance.md")).slice(1);
  assertSentence("docs/guide/package.md", /everything for `litecast\/inline` \| ([\d.]+) MB/, [Number(archive)]);
  const packed = path.join(root, "pkg/assets/wasm.js");
  const optimised = existsSync(packed) && read("pkg/assets/wasm.js");
  if (!optimised) {
    console.log("skipped (module): sizes: no module in pkg/ (make wasm)");
    return;
  }
  const compressed = Buffer.from(/"([^"]+)"/.exec(optimised)[1], "base64");
  const raw = brotliDecompressSync(compressed).length;
  assertSize("www/package/README.md", /the module \(([\d.]+) MB of WebAssembly\)/, raw);
  assertModuleSize("which runs trained networks too", raw, compressed.length);
  const page = path.join(root, "www/dist/litecast_bg.wasm");
  if (existsSync(`${page}.br`)) assertModuleSize("the page's WebAssembly module", statSync(page).size, statSync(`${page}.br`).size);
  else console.log("skipped (module): sizes: no module in www/dist (make page)");
});

test("the start page's examples are the files beside it", () => {
  const listed = json("www/examples/examples.json").map(({ file, words, bytes }) => [file, words, bytes]);
  const names = readdirSync(path.join(root, "www/examples")).filter((name) => name.endsWith(".tflite"));
  assert.deepEqual(listed.map(([file]) => file).sort(), names.sort());
  for (const [file, words, bytes] of listed) {
    const { size } = statSync(path.join(root, "www/examples", file));
    assert.equal(bytes, size, file);
    const kib = /([\d.]+) KiB/.exec(words);
    assertFigures([kib[1]], [size / 1024], `www/examples/examples.json: ${words}`);
  }
  // What choosing a GPU loads, as it is served.
  const sources = ["batch_sweep", "target_choice", "target_groups", "start_screen"].map((name) => read(`www/src/view/${name}.ts`));
  const loaded = brotliCompressSync(readFileSync(path.join(root, "bundle/gpu.json")), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } }).length / 1e6;
  for (const source of sources) for (const [, stated] of source.matchAll(/([\d.]+) MB/g)) assertFigures([stated], [loaded], "www/src/view: what GPUs load");
});

test("enough figures were compared", () => {
  console.log(`${n_checked} figures compared`);
  assert.ok(n_checked > 400, `${n_checked}`);
});
