/** Every target stands under the heading of its family, whatever its id is called. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const { describedTarget, groupOf, hasHost, hasThreads, headingOf, idInSpace, isAccelerator, nameInSpace } = await importSource("targets.ts");
const { FAMILIES, METRICS, TARGETS } = await importSource("../package/src/catalogue.ts");
const { inMetricOrder, metricMeaning, metricName } = await importSource("words.ts");

const read = (file) => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));

test("each target of a family with a group is in that group, and no other target is", () => {
  const gpus = new Set(read("bundle/gpu.json").runs.map(({ target }) => target));
  const microcontrollers = new Set(read("src/targets/cortex_m/constants.json").targets.map(({ target }) => target));
  assert.ok(gpus.size >= 20 && microcontrollers.size >= 10);
  const phones = new Set(read("bundle/accelerators.json").runs.map(({ target }) => target.split("@")[0]));
  assert.ok(phones.size >= 8);
  for (const id of [...gpus, ...microcontrollers, ...phones]) assert.ok(describedTarget(id), `${id} is in the catalogue`);
  for (const id of Object.keys(TARGETS)) {
    const known = gpus.has(id) ? "gpus" : microcontrollers.has(id) ? "microcontrollers" : phones.has(id) ? "phones-and-boards" : null;
    const family = FAMILIES[TARGETS[id].family];
    assert.equal(groupOf(id), family.group === null ? null : family.id, id);
    if (known !== null) assert.equal(family.id, known, id);
    assert.deepEqual(headingOf(id), FAMILIES[TARGETS[id].family], id);
  }
  console.log(`${phones.size} phones and boards, ${gpus.size} GPUs, ${microcontrollers.size} microcontrollers, ${Object.keys(TARGETS).length} targets`);
});

test("what the page names stands apart, and its names come back", () => {
  for (const [space, label] of [
    ["own", "Your accelerators"],
    ["device", "Your devices"],
    ["npu-board", "Boards with an Ethos-U"],
    ["board", "Microcontrollers"],
  ]) {
    const id = idInSpace(space, "a:b");
    assert.equal(headingOf(id).label, label);
    assert.equal(nameInSpace(space, id), "a:b");
    assert.equal(nameInSpace(space, `x${id}`), null);
  }
  assert.equal(nameInSpace("board", "npu-board:imx93"), null);
  assert.equal(headingOf("cortex-a-of-another-version").label, "Other targets");
  assert.equal(headingOf("constructor").label, "Other targets");
  assert.ok(hasHost("npu-board:imx93") && hasHost("own:1") && hasHost("ethos-u85-2048") && !hasHost("edgetpu-coral-dev-board"));
  assert.ok(isAccelerator("edgetpu-coral-dev-board") && !isAccelerator("cortex-a76-rpi5"));
  assert.ok(hasThreads("cortex-a76-rpi5") && !hasThreads("cortex-m7-tflm"));
  assert.ok(!hasThreads("cortex-a7-stm32mp157"), "measured on two threads only");
});

test("metrics have the engine's order and words", () => {
  const schema = read("src/report/report.schema.json");
  const known = schema.$defs.Metric.enum;
  assert.deepEqual(Object.keys(METRICS), known);
  const shuffled = ["of_a_later_version", ...known.toReversed()].map((metric) => ({ metric }));
  assert.deepEqual(inMetricOrder(shuffled).map(({ metric }) => metric), [...known, "of_a_later_version"]);
  for (const metric of known) assert.ok(metricName(metric) !== metric && metricMeaning(metric) !== "", metric);
});
