/** The page in Firefox. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { serve } from "../../www/serve.mjs";
import { evaluate, FIREFOX, is_here, openFirefox, waitFor } from "./firefox.mjs";
import { residualModel } from "./model.mjs";
import { zipOf } from "./zip.mjs";

test("an example is estimated and drawn in Firefox", { skip: !is_here && `no ${FIREFOX} here` }, async () => {
  const { server, url } = await serve();
  const firefox = await openFirefox();
  const click = async (selector) => {
    const [x, y] = await evaluate(
      firefox,
      `(() => { const element = document.querySelector(${JSON.stringify(selector)}); element.scrollIntoView({ block: "center" });
        const { left, top, width, height } = element.getBoundingClientRect(); return [left + width / 2, top + height / 2].map(Math.round); })()`,
    );
    const actions = [{ type: "pointerMove", x, y }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await firefox.send("input.performActions", { context: firefox.context, actions: [{ type: "pointer", id: "mouse", actions }] });
  };
  try {
    await firefox.send("browsingContext.setViewport", { context: firefox.context, viewport: { width: 1440, height: 900 } });
    await firefox.send("browsingContext.navigate", { context: firefox.context, url, wait: "complete" });
    await waitFor(firefox, 'document.body.dataset.ready === "yes"');
    await click(".example");
    await waitFor(firefox, "document.body.dataset.drawn");
    const values = await evaluate(firefox, '[...document.querySelectorAll("table.targets .value")].map((value) => value.textContent)');
    assert.ok(values.length > 10 && values.every((value) => /^[\d.,]+$/.test(value)), String(values));
    await click(".costliest button");
    const costliest = await evaluate(firefox, 'document.querySelector(".costliest button").dataset.operator');
    assert.equal(await evaluate(firefox, 'document.querySelector(".operator-details").dataset.operator'), costliest);
    const n_colours = await evaluate(
      firefox,
      `(() => { const canvas = document.querySelector(".drawing");
        return new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size; })()`,
    );
    assert.ok(n_colours > 20, `${n_colours} colours on the canvas`);
    await evaluate(firefox, "history.back()");
    await waitFor(firefox, 'document.body.dataset.state === "start"');
    await evaluate(firefox, "history.forward()");
    await waitFor(firefox, 'document.body.dataset.state === "report"');
    const inside = residualModel(8);
    const dropped = [
      ["source.h", "in_source.tflite", Buffer.from(`char in_source[] = {${[...inside].join()}};`)],
      ["archive.zip", "in_archive.tflite", zipOf({ "in_archive.tflite": inside })],
      ["in_gzip.tflite.gz", "in_gzip.tflite", gzipSync(inside)],
    ];
    for (const [name, model, bytes] of dropped) {
      await evaluate(
        firefox,
        `(() => { const transfer = new DataTransfer(); transfer.items.add(new File([Uint8Array.from(atob("${bytes.toString("base64")}"), (c) => c.charCodeAt(0))], "${name}"));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true })); })()`,
      );
      await waitFor(firefox, `document.body.dataset.drawn === "${model}"`);
    }
    assert.deepEqual(firefox.errors, []);
  } finally {
    await firefox.close();
    server.close();
  }
});
