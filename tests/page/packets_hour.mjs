/**
 * An hour of use and attack in Chromium: `node tests/page/packets_hour.mjs [--seconds 3600] [--interface NAME]`. Good and
 * broken files are dropped in turns, and once a minute the page's own script tries all ways to send. Every request of the
 * page has to be one for its own files, and no listener may hear anything. With `--interface`, by which the route to
 * everywhere else leads, no packet of any kind may leave by it: in a network of the script's own,
 *
 *     unshare --net sh -c 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip link set lo up
 *       ip link add v0 type veth peer name v1; ip addr add 10.9.9.2/24 dev v0; ip link set v0 up arp off
 *       ip link set v1 up; ip route add default dev v0; node tests/page/packets_hour.mjs --interface v0'
 *
 * That there is something to count is checked at the end, by a page without the policy.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { dropBytes, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { shown } from "./judged.mjs";
import { residualModel } from "./model.mjs";
import { attempts, openListener, peer, settled, tryAll } from "./packets.mjs";
import { randomNumbers } from "./random.mjs";
import { zipOf } from "./zip.mjs";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "3600" }, interface: { type: "string" } } });

/** Beyond the interface: an address and ports where nobody listens. */
const BEYOND = { host: "192.0.2.1", udp_port: 3478, tcp_port: 80 };
/** The browser looks its maker's hosts up, whatever page it shows. */
const OF_THE_BROWSER = ["google.com", "googleapis.com", "gvt1.com"].flatMap((host) => [host, `*.${host}`]);
const EACH_MS = 10_000;
const ATTACKS_EVERY = 6;

/** Packets that left by the interface, as this process's network counts them. */
async function sent() {
  const lines = (await readFile("/proc/self/net/dev", "utf8")).split("\n").map((line) => line.split(":"));
  const counts = lines.find(([name]) => name.trim() === values.interface)?.[1];
  assert.ok(counts, `no interface ${values.interface}`);
  return Number(counts.trim().split(/\s+/)[9]);
}

const random = randomNumbers(1);
/** In turns a good file, an archive, a compressed one, one with some bytes overwritten, and one that is cut off. */
function file(i) {
  const bytes = residualModel(4 + (i % 20));
  const name = `file${i}.tflite`;
  if (i % 5 === 1) return [name, zipOf({ [name]: bytes }), "x.zip"];
  if (i % 5 === 2) return [name, gzipSync(bytes), `${name}.gz`];
  if (i % 5 === 3) for (let n = 0; n < 8; n++) bytes[Math.floor(random() * bytes.length)] = 255;
  if (i % 5 === 4) return [name, bytes.subarray(0, Math.floor(random() * bytes.length)), name];
  return [name, bytes, name];
}

const listener = await openListener();
const chromium = await openBrowser({ is_whole: true, args: [`--host-resolver-rules=${OF_THE_BROWSER.map((host) => `MAP ${host} ~NOTFOUND`).join(",")}`] });
const { page, requests, problems, close } = await openPage(chromium);
await pause(5000);
const sent_before = values.interface ? await sent() : 0;
const end = performance.now() + 1000 * Number(values.seconds);
const places = [listener.at, ...(values.interface ? [BEYOND] : [])];
let [i, n_attempts] = [0, 0];
for (; performance.now() < end; i++) {
  const next = performance.now() + EACH_MS;
  const [name, bytes, dropped] = file(i);
  await dropBytes(page, dropped, bytes);
  if (i % 5 < 3) await waitDrawn(page, name);
  else await shown(page, name);
  if (i % ATTACKS_EVERY === 0) {
    for (const at of places) {
      const ways = Object.values(attempts(at));
      await page.evaluate(tryAll(ways));
      n_attempts += ways.length;
    }
  }
  await pause(Math.max(0, next - performance.now()));
}
await settled();
const n_sent = values.interface ? (await sent()) - sent_before : null;
const elsewhere = requests.filter((url) => !url.startsWith(chromium.url) && !/^(blob|data):/.test(url) && !places.some(({ host }) => url.includes(host)));
console.log(`${i} files and ${n_attempts} attempts in ${values.seconds} s: ${listener.n_heard} packets and connections heard, ${n_sent ?? "uncounted"} packets by ${values.interface ?? "no interface of its own"}, ${elsewhere.length} requests to elsewhere, ${problems.length} messages of the policy`);
await close();
assert.equal(listener.n_heard, 0, "packets and connections");
assert.equal(n_sent ?? 0, 0, "packets by the interface");
assert.deepEqual(elsewhere, []);

const other = await chromium.browser.newPage();
await other.evaluate(tryAll([peer("RTCPeerConnection", listener.at)]));
await settled();
assert.ok(listener.n_heard > 0, "packets of a page without the policy");
if (values.interface) {
  await other.evaluate(tryAll([peer("RTCPeerConnection", BEYOND)]));
  assert.ok((await sent()) > sent_before, "packets of a page without the policy");
}
await chromium.close();
listener.close();
