/** The page in Firefox, driven by WebDriver BiDi over a plain WebSocket: Debian's `firefox-esr`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { serve } from "../../www/serve.mjs";

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
/** A cold start of the browser, the module and the predictor on a shared machine. */
const LIMIT_MS = 60_000;
const is_here = await access(FIREFOX).then(() => true, () => false);

/** A browser with one blank page; `send` resolves to the result of a command. */
async function openFirefox() {
  const profile = await mkdtemp(path.join(tmpdir(), "litecast-firefox-"));
  const child = spawn(FIREFOX, ["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", profile], { stdio: ["ignore", "ignore", "pipe"] });
  const address = await new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (bytes) => {
      said += bytes;
      const found = said.match(/WebDriver BiDi listening on (ws:\S+)/);
      if (found) resolve(found[1]);
    });
    child.on("exit", () => reject(new Error(`firefox ended: ${said}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no answer at ${address}`));
  });
  const waiting = new Map();
  const errors = [];
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.method === "log.entryAdded" && message.params.level === "error") errors.push(message.params.text);
    const settle = waiting.get(message.id);
    if (message.type === "success") settle?.resolve(message.result);
    else if (message.type === "error") settle?.reject(new Error(`${message.error}: ${message.message}`));
  };
  let last_id = 0;
  const send = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++last_id, { resolve, reject });
      socket.send(JSON.stringify({ id: last_id, method, params }));
    });
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await send("browsingContext.getTree", {});
  const close = async () => {
    socket.close();
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill();
    await ended;
    await rm(profile, { recursive: true, force: true });
  };
  return { send, errors, context: contexts[0].context, close };
}

/** The value of an expression on the page, which may be a promise. */
async function evaluate({ send, context }, expression) {
  const { type, result, exceptionDetails } = await send("script.evaluate", { expression: `(async () => JSON.stringify(await (${expression})))()`, target: { context }, awaitPromise: true });
  assert.equal(type, "success", exceptionDetails?.text);
  return JSON.parse(result.value ?? "null");
}

async function waitFor(firefox, expression) {
  for (const until = Date.now() + LIMIT_MS; Date.now() < until; ) {
    if (await evaluate(firefox, `Boolean(${expression})`)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.fail(`never came true: ${expression}`);
}

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
    assert.deepEqual(firefox.errors, []);
  } finally {
    await firefox.close();
    server.close();
  }
});
