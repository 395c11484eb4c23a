/** What can be dropped: models, folders, archives and C arrays, and what is refused in words. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { dropBytes, dropFiles, REPORT_LIMIT_MS, until, waitCompared, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualGraph, residualModel } from "./model.mjs";
import { onnxModel } from "./onnx.mjs";
import { zipOf } from "./zip.mjs";

const shared = browserForTests();
const { withPage, writeFile: writeModel } = shared;

test("the file picker opens files", () =>
  withPage(async (page) => {
    const chooser = page.waitForEvent("filechooser");
    await page.locator(".start .pick").click();
    await (await chooser).setFiles(await writeModel("picked.tflite", residualModel(8)));
    await waitDrawn(page, "picked.tflite");
  }));

test("what is not a model is refused in words", () =>
  withPage(async (page) => {
    const real = residualModel(12);
    const cases = [
      ["text.tflite", Buffer.from("hello, I am not a model"), /TFL3/],
      ["empty.tflite", Buffer.alloc(0), /expected/i],
      ["cut.tflite", real.subarray(0, real.length / 2), /expected/i],
      ["zeros.tflite", Buffer.concat([real.subarray(0, 8), Buffer.alloc(64)]), /expected|found/i],
    ];
    for (const [name, bytes, words] of cases) {
      await dropBytes(page, name, bytes);
      await page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      assert.match(await page.textContent(".failure-panel .message"), words, name);
      assert.notEqual(await page.getAttribute(".failure-panel", "data-kind"), "internal", name);
    }
    await dropBytes(page, "good.tflite", real);
    await waitDrawn(page, "good.tflite");
  }));

test("a folder is walked, and one without models is refused in words", () =>
  withPage(async (page) => {
    const [full, empty] = [path.join(shared.folder, "full"), path.join(shared.folder, "empty")];
    await mkdir(path.join(full, "deeper"), { recursive: true });
    await mkdir(empty, { recursive: true });
    await writeFile(path.join(full, "one.tflite"), residualModel(8));
    await writeFile(path.join(full, "deeper", "two.tflite"), residualModel(12));
    await writeFile(path.join(full, "notes.txt"), "nothing to estimate");
    await dropFiles(page, [full]);
    await waitCompared(page, 2);
    await page.waitForSelector('.comparison [data-open]:has-text("two.tflite")');
    await dropFiles(page, [empty]);
    await page.waitForSelector(".failure-panel");
    assert.match(await page.textContent(".failure-panel .message"), /could not read it.*is it a folder/);
  }));

test("a new drop replaces the one on its way", () =>
  withPage(async (page) => {
    await dropBytes(page, "long.tflite", residualModel(3000));
    await dropBytes(page, "short.tflite", residualModel(8));
    await waitDrawn(page, "short.tflite");
    await page.waitForTimeout(1500);
    assert.equal(await page.getAttribute(".operators", "aria-rowcount"), "9");
    assert.equal(await page.title(), "short.tflite · LiteCast");
  }));

test("a file that changes after it was opened is read no more, and says so", () =>
  withPage(async (page) => {
    for (const [name, shown, bytes] of [["plain.tflite", "plain.tflite", residualModel(8)], ["packed.zip", "inside.tflite", zipOf({ "inside.tflite": residualModel(8) })]]) {
      const file = await shared.writeFile(name, bytes);
      await dropFiles(page, [file]);
      await waitDrawn(page, shown);
      await until(() => page.workers().every((worker) => !worker.url().includes("open.js")), "nothing holds the archive open");
      await writeFile(file, residualModel(40));
      await page.fill(".batch input", "2");
      await page.press(".batch input", "Enter");
      await page.waitForFunction(() => /could not read it|damaged/i.test(document.querySelector(".batch").textContent + document.querySelector(".failure-panel")?.textContent));
    }
    await dropBytes(page, "good.tflite", residualModel(12));
    await waitDrawn(page, "good.tflite");
  }));

test("tables of measurements that are no tables are refused in words", () =>
  withPage(async (page) => {
    await dropBytes(page, "any.tflite", residualModel(8));
    await waitDrawn(page, "any.tflite");
    await page.evaluate(() => document.querySelectorAll(".device, .device-csv").forEach((details) => (details.open = true)));
    const tables = {
      "large.csv": [Buffer.alloc(2 * 1024 ** 2, "a,1\n"), /large\.csv could not be read: expected a table of at most 1\.00\sMiB, found 2\.00\sMiB/],
      "quotes.csv": [Buffer.alloc(50_000, '"'), /0 measurements read/],
      "separators.csv": [Buffer.from(`${",".repeat(50_000)}\n${";".repeat(50_000)}`), /0 measurements read; line 2: expected at most 1,024 characters, found 50,000/],
      "numbers.csv": [Buffer.from("d,f,NaN\nd,f,-1\nd,f,1e999\nd,f,0x\n__proto__,constructor,5"), /1 measurement read; .*line 2: expected file and milliseconds.*line 4/],
      "bytes.csv": [Buffer.from([0, 255, 254, 10, 44, 44]), /0 measurements read/],
      "long.csv": [Buffer.from("d,f,1\n".repeat(1001)), /line 1001: expected at most 1,000 lines, found more/],
    };
    for (const [name, [bytes, words]] of Object.entries(tables)) {
      await page.setInputFiles('.device-csv input[type="file"]', { name, mimeType: "text/csv", buffer: bytes });
      await page.waitForFunction(([source, flags]) => new RegExp(source, flags).test(document.querySelector(".device-outcome").textContent), [words.source, words.flags]);
    }
  }));

test("other formats are named, archives and C arrays are opened", () =>
  withPage(async (page) => {
    const model = residualModel(8);
    const safetensors = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}"), Buffer.alloc(8)]);
    const refused = [
      ["weights.safetensors", safetensors, /safetensors/],
      ["model.pt", zipOf({ "model/data.pkl": Buffer.from("x") }), /a PyTorch file/],
      ["old.pth", Buffer.from([0x80, 2, 0x8a, 10, 0x6c]), /Python pickle.*PyTorch/],
      ["graph.pb", Buffer.from([8, 1, 18, 4, 0, 0]), /SavedModel in protocol buffers/],
      ["net.h5", Buffer.from("\x89HDF\r\n\x1a\n----", "latin1"), /HDF5/],
      ["nothing.zip", zipOf({ "readme.md": Buffer.from("x") }), /in the archive, found 1 file without one/],
      ["array.cc", Buffer.from("const int table[] = {1, 2, 3};"), /found 1 array without TFL3/],
      ["cut.zip", zipOf({ "a.tflite": model }).subarray(0, 60), /damaged/],
    ];
    for (const [name, bytes, words] of refused) {
      await dropBytes(page, name, bytes);
      await page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      assert.match(await page.textContent(".failure-panel .message"), words, name);
    }
    const source = `// a model\nalignas(16) const unsigned char g_model[] = {\n${[...model].map((byte) => `0x${byte.toString(16)}`).join(", ")},\n};\nconst unsigned int g_model_len = ${model.length};\n`;
    await dropBytes(page, "model_data.cc", Buffer.from(source));
    await waitDrawn(page, "g_model.tflite");
    await dropBytes(page, "vision.task", zipOf({ "detector.tflite": model, "labels.txt": Buffer.from("cat") }));
    await waitDrawn(page, "detector.tflite");
    await dropBytes(page, "packed.tflite.gz", gzipSync(model));
    await waitDrawn(page, "packed.tflite");
    await dropBytes(page, "small.onnx", onnxModel());
    await waitDrawn(page, "small.onnx");
    assert.match(await page.textContent(".costliest"), /CONV_2D/);
    await dropBytes(page, "graph.json", Buffer.from(JSON.stringify(residualGraph(8))));
    await waitDrawn(page, "graph.json");
    await dropBytes(page, "two.zip", zipOf({ "x/one.tflite": model, "two.onnx": onnxModel() }));
    await waitCompared(page, 2);
    await page.waitForSelector('.comparison [data-open]:has-text("two.onnx")');
  }));
