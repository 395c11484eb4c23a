/** No packet leaves the page: whatever its own script tries, no listener on this machine hears of it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serve } from "../../www/serve.mjs";
import { dropBytes, openPage, waitDrawn } from "./browser.mjs";
import { evaluate, FIREFOX, is_here, openFirefox, waitFor } from "./firefox.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { attempts, openListener, OUTSIDE, peer, settled, tryAll } from "./packets.mjs";
import { zipOf } from "./zip.mjs";

const shared = browserForTests({ is_whole: true });

let listener = null;
before(async () => {
  listener = await openListener();
});
after(() => listener?.close());

/** The packets and connections that come while `act` runs. */
async function heard(act) {
  const before = listener.n_heard;
  await act();
  await settled();
  return listener.n_heard - before;
}

const NO_NETWORK = !OUTSIDE && "page: this machine has no network but the loopback";

test("in Chromium", { skip: NO_NETWORK }, async () => {
  const { page, requests, close } = await openPage(shared.chromium);
  const n_of_page = await heard(async () => {
    await dropBytes(page, "model.tflite", residualModel(8));
    await waitDrawn(page, "model.tflite");
    await dropBytes(page, "archive.zip", zipOf({ "inside.tflite": residualModel(8) }));
    await waitDrawn(page, "inside.tflite");
    await page.evaluate(tryAll(Object.values(attempts(listener.at))));
  });
  assert.equal(n_of_page, 0, "packets and connections");
  assert.deepEqual(requests.filter((url) => url.startsWith(shared.chromium.url) === false && !/^(blob|data):/.test(url) && !url.includes(OUTSIDE)), []);
  await close();
  // That there is something to hear: the same on a page without our policy.
  const other = await shared.chromium.browser.newPage();
  assert.ok((await heard(() => other.evaluate(tryAll([peer("RTCPeerConnection", listener.at)])))) > 0, "packets of a page without the policy");
  assert.ok((await heard(() => other.evaluate(tryAll([attempts(listener.at).image])))) > 0, "connections of a page without the policy");
  await other.close();
});

test("in Firefox", { skip: NO_NETWORK || (!is_here && `page: no ${FIREFOX} here`) }, async () => {
  const { server, url } = await serve();
  const firefox = await openFirefox();
  try {
    const n_of_page = await heard(async () => {
      await firefox.send("browsingContext.navigate", { context: firefox.context, url, wait: "complete" });
      await waitFor(firefox, 'document.body.dataset.ready === "yes"');
      await evaluate(firefox, 'document.querySelector(".example").click()');
      await waitFor(firefox, "document.body.dataset.drawn");
      await evaluate(firefox, tryAll(Object.values(attempts(listener.at))));
    });
    assert.equal(n_of_page, 0, "packets and connections");
    await firefox.send("browsingContext.navigate", { context: firefox.context, url: "data:text/html,<body>", wait: "complete" });
    assert.ok((await heard(() => evaluate(firefox, tryAll([peer("RTCPeerConnection", listener.at)])))) > 0, "packets of a page without the policy");
    assert.ok((await heard(() => evaluate(firefox, tryAll([attempts(listener.at).image])))) > 0, "connections of a page without the policy");
  } finally {
    await firefox.close();
    server.close();
  }
});
