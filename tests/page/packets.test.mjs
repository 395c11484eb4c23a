/** No packet leaves the page: whatever its own script tries, no listener on this machine hears of it. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { after, before, test } from "node:test";
import { serve } from "../../www/serve.mjs";
import { dropBytes, openPage, waitDrawn } from "./browser.mjs";
import { evaluate, FIREFOX, is_here, openFirefox, waitFor } from "./firefox.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { zipOf } from "./zip.mjs";

const shared = browserForTests({ is_whole: true });

/** Until a packet that is on its way has come; those of a peer connection come within a second. */
const SETTLE_MS = 2500;

/** Not the loopback interface, on which Firefox makes no peer connections. */
const OUTSIDE = Object.values(networkInterfaces()).flat().find(({ internal, family }) => !internal && family === "IPv4")?.address;

/** Counts packets and connections on ports of its own. */
const listener = { udp: null, tcp: null, n_heard: 0, udp_port: 0, tcp_port: 0 };
before(async () => {
  listener.udp = createSocket("udp4").on("message", () => (listener.n_heard += 1));
  await new Promise((resolve) => listener.udp.bind(0, OUTSIDE, resolve));
  listener.tcp = createServer((socket) => {
    listener.n_heard += 1;
    socket.on("error", () => {}).destroy();
  });
  await new Promise((resolve) => listener.tcp.listen(0, OUTSIDE, resolve));
  listener.udp_port = listener.udp.address().port;
  listener.tcp_port = listener.tcp.address().port;
});
after(() => {
  listener.udp?.close();
  listener.tcp?.close();
});

/** What a script may try, by name, as expressions. */
function attempts() {
  const url = `http://${OUTSIDE}:${listener.tcp_port}/`;
  const link = (rel) => `document.head.append(Object.assign(document.createElement("link"), { rel: "${rel}", href: "${url}", as: "fetch" }))`;
  return {
    fetch: `fetch("${url}")`,
    "a request that outlives the page": `fetch("${url}", { method: "POST", body: "x", keepalive: true })`,
    beacon: `navigator.sendBeacon("${url}", "x")`,
    XMLHttpRequest: `(() => { const request = new XMLHttpRequest(); request.open("POST", "${url}"); request.send("x"); })()`,
    WebSocket: `new WebSocket("${url.replace("http", "ws")}")`,
    EventSource: `new EventSource("${url}")`,
    WebTransport: `new WebTransport("https://${OUTSIDE}:${listener.udp_port}/")`,
    image: `(new Image().src = "${url}")`,
    "image of a style": `document.body.style.setProperty("background-image", "url(${url})")`,
    font: `new FontFace("x", "url(${url})").load()`,
    sound: `new Audio("${url}").play()`,
    module: `import("${url}")`,
    script: `document.head.append(Object.assign(document.createElement("script"), { src: "${url}" }))`,
    "style sheet": link("stylesheet"),
    prefetch: link("prefetch"),
    preload: link("preload"),
    manifest: link("manifest"),
    worker: `new Worker(URL.createObjectURL(new Blob(["fetch('${url}')"])))`,
    "ping of a link": `(() => { const a = Object.assign(document.createElement("a"), { href: "#", ping: "${url}" }); document.body.append(a); a.click(); })()`,
    ...Object.fromEntries(["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection"].map((name) => [name, peer(name)])),
  };
}

function peer(name) {
  return `(async () => {
    const connection = new ${name}({ iceServers: [{ urls: "stun:${OUTSIDE}:${listener.udp_port}" }] });
    connection.createDataChannel("x");
    await connection.setLocalDescription(await connection.createOffer());
    await new Promise((resolve) => setTimeout(resolve, ${SETTLE_MS}));
    connection.close();
  })()`;
}

/** All of them at once, and whatever they throw; afterwards one packet too many would have been heard. */
const tryAll = (expressions) => `Promise.race([Promise.allSettled([${expressions.map((expression) => `(async () => ${expression})()`).join(", ")}]), new Promise((resolve) => setTimeout(resolve, ${2 * SETTLE_MS}))]).then(() => null)`;

const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

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
    await page.evaluate(tryAll(Object.values(attempts())));
  });
  assert.equal(n_of_page, 0, "packets and connections");
  assert.deepEqual(requests.filter((url) => url.startsWith(shared.chromium.url) === false && !/^(blob|data):/.test(url) && !url.includes(OUTSIDE)), []);
  await close();
  // That there is something to hear: the same on a page without our policy.
  const other = await shared.chromium.browser.newPage();
  assert.ok((await heard(() => other.evaluate(tryAll([peer("RTCPeerConnection")])))) > 0, "packets of a page without the policy");
  assert.ok((await heard(() => other.evaluate(tryAll([attempts().image])))) > 0, "connections of a page without the policy");
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
      await evaluate(firefox, tryAll(Object.values(attempts())));
    });
    assert.equal(n_of_page, 0, "packets and connections");
    await firefox.send("browsingContext.navigate", { context: firefox.context, url: "data:text/html,<body>", wait: "complete" });
    assert.ok((await heard(() => evaluate(firefox, tryAll([peer("RTCPeerConnection")])))) > 0, "packets of a page without the policy");
    assert.ok((await heard(() => evaluate(firefox, tryAll([attempts().image])))) > 0, "connections of a page without the policy");
  } finally {
    await firefox.close();
    server.close();
  }
});
