/** The timeline: lanes, time and memory as the report says them, keys, folding, the ghost of a change, and what is saved. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { dropBytes, waitAnswered, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";
import { litecast } from "./all_plans.mjs";

const { scheduleOf, barsOf, trafficRates } = await importSource("timeline/schedule.ts");
const { TimeWindow } = await importSource("timeline/time_window.ts");
const { paintTimeline } = await importSource("timeline/painter.ts");
const { KEYS, commandOf } = await importSource("timeline/keys.ts");
const { traceOf } = await importSource("export/trace.ts");
const shared = browserForTests();
const NPU = "ethos-u55-256";

test("operators run one after the other, each on its processor, and take together what the report says", () => {
  const report = litecast.estimate(mixedModel(), { name: "mixed", targets: [NPU] });
  const latency = report.results.find(({ metric }) => metric === "latency");
  const { starts, ends, lane, lanes, total, memory, stretches, peak_bytes } = scheduleOf(report, NPU);
  assert.deepEqual(lanes, ["NPU", "CPU"]);
  assert.deepEqual([...ends].map((end, i) => end - starts[i]).map((cost, i) => Math.abs(cost - latency.operators[i]) < 1e-9), latency.operators.map(() => true));
  assert.ok([...starts].slice(1).every((start, i) => start === ends[i]));
  assert.equal(total, latency.value);
  const left = report.left_out[0].operators;
  assert.deepEqual([...lane].flatMap((place, i) => (place === 1 ? [i] : [])), left.map(({ operator }) => operator));
  assert.equal(stretches.length, 1);
  assert.deepEqual(stretches[0].reasons, [left[0].reason]);
  assert.deepEqual([...memory], report.operators.map(({ live_bytes }) => live_bytes));
  assert.equal(peak_bytes, Math.max(...report.operators.map(({ live_bytes }) => live_bytes)));
});

test("what is moved off chip is that of the report, and each lane says what its times rest on", () => {
  const report = litecast.estimate(mixedModel(), { name: "mixed", targets: [NPU, "cortex-a76-rpi5"] });
  const of = (metric) => report.results.find((result) => result.target === NPU && result.metric === metric);
  const schedule = scheduleOf(report, NPU);
  assert.deepEqual(schedule.traffic_bytes, of("offchip_traffic").operators);
  assert.deepEqual(schedule.lane_evidence, [of("npu_latency").evidence, of("latency").evidence]);
  const rates = trafficRates(schedule, schedule.traffic_bytes);
  const moved = [...rates].map((rate, i) => rate * (schedule.ends[i] - schedule.starts[i]));
  const expected = schedule.traffic_bytes.map((bytes, i) => (schedule.ends[i] > schedule.starts[i] ? bytes : 0));
  assert.ok(moved.every((bytes, i) => Math.abs(bytes - expected[i]) <= 1e-9 * bytes), `${moved} ${expected}`);
  assert.equal(scheduleOf(report, "cortex-a76-rpi5").traffic_bytes, null, "a processor's caches hide it");
});

test("a lane has the mark of what its times rest on, and its bars the texture", () => {
  const report = litecast.estimate(mixedModel(), { name: "mixed", targets: [NPU] });
  const theme = new Proxy({}, { get: (_, name) => (name === "kind" ? () => "kind" : name) });
  const drawn = (evidence) => {
    const schedule = { ...scheduleOf(report, NPU), lane_evidence: [evidence, undefined] };
    const window = new TimeWindow();
    window.setTotal(schedule.total);
    const [words, marks] = [[], []];
    const record = (name) => (...rest) => marks.push([name, ...rest]);
    const ink = { rect: record("rect"), frame: record("frame"), line: record("line"), text: (text) => words.push(text) };
    paintTimeline(ink, [{ schedule, bars: barsOf(schedule, new Set()), ghost: null, limit_bytes: null }], window, 1400, theme, { selected: null, hovered: null, matches: null, range: null });
    const [x, y, width, height] = marks.find(([name, , , , , colour]) => name === "rect" && colour === "kind").slice(1);
    const inside = marks.filter(([, left, top]) => left >= x && left < x + width && top >= y && top <= y + height);
    return { words, n_of: (name) => inside.filter(([mark]) => mark === name).length };
  };
  const [counted, measured, compiler, assumed] = ["counted", "measured", "compiler", "assumed"].map(drawn);
  assert.deepEqual([counted, measured, compiler, assumed].map(({ words }) => words.find((text) => text.startsWith("NPU"))), ["NPU ■", "NPU ●", "NPU ◐", "NPU ○"]);
  assert.equal(measured.n_of("frame") - counted.n_of("frame"), 1, "an edge");
  assert.ok(compiler.n_of("line") - counted.n_of("line") >= 3, "hatched");
  assert.ok(assumed.n_of("rect") - counted.n_of("rect") >= 10, "dotted");
  assert.deepEqual([measured, compiler].map(({ n_of }) => n_of("rect")), [counted, counted].map(({ n_of }) => n_of("rect")), "no dots");
  assert.ok(drawn(undefined).words.includes("NPU"), "no mark where nothing is known");
});

test("folded blocks take the time of their operators, and none is lost", () => {
  const report = litecast.estimate(residualModel(81), { name: "residual", targets: [NPU] });
  const schedule = scheduleOf(report, NPU);
  assert.ok(schedule.repeats.length > 0);
  const all = barsOf(schedule, new Set());
  const folded = barsOf(schedule, new Set(schedule.repeats.keys()));
  assert.equal(all.length, 81);
  assert.ok(folded.length < all.length / 2, `${folded.length} bars`);
  assert.deepEqual(folded.flatMap(({ operators }) => operators).sort((a, b) => a - b), Array.from({ length: 81 }, (_, i) => i));
  const time = (bars) => bars.reduce((sum, { from, to }) => sum + to - from, 0);
  assert.ok(Math.abs(time(all) - time(folded)) < 1e-9 * time(all));
});

test("a window stays within the time, zooms at a place and shows what is selected", () => {
  const window = new TimeWindow();
  window.setTotal(200);
  assert.deepEqual([window.from, window.to], [0, 200]);
  window.zoomAt(0.25, 0.5);
  assert.deepEqual([window.from, window.to], [25, 125]);
  window.pan(-1);
  assert.deepEqual([window.from, window.to], [0, 100]);
  window.pan(10);
  assert.deepEqual([window.from, window.to], [100, 200]);
  window.setTotal(400);
  assert.deepEqual([window.from, window.to], [200, 400], "the same part of a longer time");
  window.reveal(10, 20);
  assert.ok(window.from <= 10 && window.to >= 20);
  window.zoomAt(0.5, 1e9);
  assert.ok(window.is_all);
});

test("each key does one thing, and every command has a key", () => {
  const keys = KEYS.flatMap(({ keys }) => keys);
  assert.equal(new Set(keys).size, keys.length);
  const press = (key, more = {}) => commandOf({ key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more });
  assert.equal(press("W"), "zoom-in");
  assert.equal(press("?", { shiftKey: true }), "help");
  assert.equal(press("ArrowLeft", { shiftKey: true }), "pan-left");
  assert.equal(press("w", { ctrlKey: true }), null, "the browser's own");
});

test("a trace has every operator at its time, on its lane, in microseconds", () => {
  const report = litecast.estimate(mixedModel(), { name: "mixed", targets: [NPU] });
  const schedule = scheduleOf(report, NPU);
  const { traceEvents } = JSON.parse(traceOf("mixed.tflite", [schedule]));
  const events = traceEvents.filter(({ ph }) => ph === "X");
  assert.deepEqual(events.map(({ name }) => name), report.operators.map(({ name }) => name));
  assert.ok(events.every(({ ts, dur, pid, tid }, i) => ts === schedule.starts[i] * 1000 && dur >= 0 && pid === 1 && tid === schedule.lane[i]));
  assert.deepEqual(traceEvents.filter(({ ph, name }) => ph === "M" && name === "thread_name").map(({ args }) => args.name), ["NPU", "CPU"]);
  assert.ok(events.some(({ args }) => args.reason));
  assert.equal(traceEvents.filter(({ ph }) => ph === "C").length, report.operators.length);
});

const picture = (page) => page.evaluate(() => document.querySelector(".timeline canvas").toDataURL());
const painted = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

test("keys move through the time, select, fold and explain themselves", () =>
  shared.withPage(async (page) => {
    await dropBytes(page, "mixed.tflite", mixedModel());
    await waitDrawn(page, "mixed.tflite");
    await page.selectOption("#target", NPU);
    assert.match(await page.textContent(".timeline-stretches"), /1 stretch on the CPU: .*DEPTH_TO_SPACE.*it saves at most \d/s);
    await page.focus(".timeline canvas");
    await page.keyboard.press("]");
    assert.equal(await page.getAttribute(".operator-details", "data-operator"), "2");
    assert.match(await page.getAttribute(".timeline canvas", "aria-valuetext"), /^DEPTH_TO_SPACE #2, .* on the CPU \(.*alive$/u);
    await painted(page);
    let before = await picture(page);
    for (const key of ["w", "d", "0", "Home", "f", "Shift+ArrowRight", "a", "s"]) {
      await page.keyboard.press(key);
      await painted(page);
      const now = await picture(page);
      assert.ok(now !== before, `${key} changes the drawing`);
      before = now;
    }
    await page.keyboard.press("?");
    assert.ok(await page.isVisible(".keys-dialog"));
    assert.equal(await page.locator(".keys-dialog dt").count(), KEYS.length);
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden(".keys-dialog"));
    assert.ok(await page.evaluate(() => document.activeElement.matches(".timeline canvas")), "the focus is back");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".operator-details").count(), 0);
  }));

test("a drag moves what is shown, and a click selects the operator under it", () =>
  shared.withPage(async (page) => {
    await dropBytes(page, "dragged.tflite", residualModel(60));
    await waitDrawn(page, "dragged.tflite");
    const canvas = page.locator(".timeline canvas");
    await canvas.scrollIntoViewIfNeeded();
    await page.focus(".timeline canvas");
    for (let i = 0; i < 6; i++) await page.keyboard.press("w");
    const { x, y, width } = await canvas.boundingBox();
    const at = async () => {
      await page.keyboard.press("Escape");
      await page.mouse.click(x + width / 2, y + 60);
      return Number(await page.getAttribute(".operator-details", "data-operator"));
    };
    const before = await at();
    await page.mouse.move(x + width / 2, y + 60);
    await page.mouse.down();
    await page.mouse.move(x + width / 4, y + 60, { steps: 4 });
    await page.mouse.up();
    assert.ok((await at()) > before, "later");
  }));

test("a slider draws the changed network over the one before", () =>
  shared.withPage(async (page) => {
    await dropBytes(page, "ghost.tflite", residualModel(40));
    await waitDrawn(page, "ghost.tflite");
    await page.selectOption("#target", NPU);
    await painted(page);
    const before = await picture(page);
    await page.click("#tool-what-if");
    await page.focus("#what-if-resolution");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowLeft");
    await page.waitForSelector(".what-if-answer .metric");
    await waitAnswered(page);
    await painted(page);
    assert.ok((await picture(page)) !== before, "the drawing is another one");
    await page.click('.what-if button:text-is("Reset")');
    await painted(page);
    await page.mouse.move(5, 5);
    await painted(page);
    assert.ok((await picture(page)) === before, "the ghost is gone");
  }));

test("the timeline is saved as SVG, PNG and trace", () =>
  shared.withPage(async (page) => {
    await dropBytes(page, "saved.tflite", residualModel(20));
    await waitDrawn(page, "saved.tflite");
    const saved = async (label) => {
      await page.evaluate(() => (document.querySelector(".timeline-take").open = true));
      const download = page.waitForEvent("download");
      await page.click(`.timeline-take button:text-is("${label}")`);
      return readFile(await (await download).path());
    };
    const svg = (await saved("SVG")).toString();
    assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.ok((svg.match(/<rect/g) ?? []).length > 20 && />NPU [◐○]</u.test(svg));
    assert.equal((await saved("PNG")).subarray(1, 4).toString(), "PNG");
    assert.equal(JSON.parse(await saved("Trace")).traceEvents.filter(({ ph }) => ph === "X").length, 20);
    const is_open = () => page.evaluate(() => document.querySelector(".timeline-take").open);
    assert.ok(await is_open());
    await page.focus('.timeline-take button:text-is("Trace")');
    await page.keyboard.press("Shift+Tab");
    assert.ok(await is_open(), "the keyboard is in it");
    for (const key of ["Tab", "Tab"]) await page.keyboard.press(key);
    assert.ok(!(await is_open()), "it would cover what then has the focus");
  }));
