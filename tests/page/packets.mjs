/** Ways by which a script in the page may send, and ears for what it sends. */
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";

/** Until a packet that is on its way has come; those of a peer connection come within a second. */
const SETTLE_MS = 2500;

/** Not the loopback interface, on which Firefox makes no peer connections. */
export const OUTSIDE = Object.values(networkInterfaces()).flat().find(({ internal, family }) => !internal && family === "IPv4")?.address;

/** Counts packets and connections on ports of its own. */
export async function openListener() {
  const listener = { n_heard: 0 };
  const udp = createSocket("udp4").on("message", () => (listener.n_heard += 1));
  await new Promise((resolve) => udp.bind(0, OUTSIDE, resolve));
  const tcp = createServer((socket) => {
    listener.n_heard += 1;
    socket.on("error", () => {}).destroy();
  });
  await new Promise((resolve) => tcp.listen(0, OUTSIDE, resolve));
  listener.at = { host: OUTSIDE, udp_port: udp.address().port, tcp_port: tcp.address().port };
  listener.close = () => {
    udp.close();
    tcp.close();
  };
  return listener;
}

/** What a script may try, by name, as expressions. */
export function attempts(at) {
  const { host, udp_port, tcp_port } = at;
  const url = `http://${host}:${tcp_port}/`;
  const link = (rel) => `document.head.append(Object.assign(document.createElement("link"), { rel: "${rel}", href: "${url}", as: "fetch" }))`;
  return {
    fetch: `fetch("${url}")`,
    "a request that outlives the page": `fetch("${url}", { method: "POST", body: "x", keepalive: true })`,
    beacon: `navigator.sendBeacon("${url}", "x")`,
    XMLHttpRequest: `(() => { const request = new XMLHttpRequest(); request.open("POST", "${url}"); request.send("x"); })()`,
    WebSocket: `new WebSocket("${url.replace("http", "ws")}")`,
    EventSource: `new EventSource("${url}")`,
    WebTransport: `new WebTransport("https://${host}:${udp_port}/")`,
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
    ...Object.fromEntries(["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection"].map((name) => [name, peer(name, at)])),
  };
}

export function peer(name, { host, udp_port }) {
  return `(async () => {
    const connection = new ${name}({ iceServers: [{ urls: "stun:${host}:${udp_port}" }] });
    connection.createDataChannel("x");
    await connection.setLocalDescription(await connection.createOffer());
    await new Promise((resolve) => setTimeout(resolve, ${SETTLE_MS}));
    connection.close();
  })()`;
}

/** All of them at once, and whatever they throw; afterwards one packet too many would have been heard. */
export const tryAll = (expressions) => `Promise.race([Promise.allSettled([${expressions.map((expression) => `(async () => ${expression})()`).join(", ")}]), new Promise((resolve) => setTimeout(resolve, ${2 * SETTLE_MS}))]).then(() => null)`;

export const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
