/** Firefox, Debian's `firefox-esr`, driven by WebDriver BiDi over a plain WebSocket. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

export const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
/** A cold start of the browser and the module on a shared machine. */
const LIMIT_MS = 60_000;
export const is_here = await access(FIREFOX).then(() => true, () => false);

/** A browser with one blank page; `send` resolves to the result of a command. */
export async function openFirefox() {
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
export async function evaluate({ send, context }, expression) {
  const { type, result, exceptionDetails } = await send("script.evaluate", { expression: `(async () => JSON.stringify(await (${expression})))()`, target: { context }, awaitPromise: true });
  assert.equal(type, "success", exceptionDetails?.text);
  return JSON.parse(result.value ?? "null");
}

export async function waitFor(firefox, expression) {
  for (const until = Date.now() + LIMIT_MS; Date.now() < until; ) {
    if (await evaluate(firefox, `Boolean(${expression})`)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.fail(`never came true: ${expression}`);
}
