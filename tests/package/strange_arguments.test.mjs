/**
 * Arguments whose own code throws, or answers otherwise each time it is asked: getters, proxies, iterators, promises. Whatever
 * it does, a call ends in a value or in an error of the package that has a kind, with what was thrown as its cause.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { entry, example, litecast, load, LitecastError } from "./installed.mjs";
import { read } from "./packed.mjs";

const revoked = Proxy.revocable({}, {});
revoked.revoke();
const refuse = () => {
  throw new Error("asked of an error");
};
/** An own error behind a proxy: the class says that it is one, and its fields cannot be read. */
const pretended = new Proxy(new LitecastError("truncated", "words"), { get: refuse, getPrototypeOf: refuse, ownKeys: refuse });
const THROWN = [new Error("of the program"), new TypeError("x".repeat(10_000)), null, undefined, "words", Symbol("words"), Object.create(null), revoked.proxy, pretended, { get message() { throw pretended; } }];

/** Values that an object may answer with when it is asked again. */
const ANSWERS = [undefined, null, -1, 2 ** 60, Number.NaN, "words", Symbol("words"), 1n, [], {}, () => refuse(), new Uint8Array(3), revoked.proxy, { valueOf: refuse, toString: refuse, toJSON: refuse, [Symbol.toPrimitive]: refuse, get [Symbol.toStringTag]() { return refuse(); } }, { [Symbol.toStringTag]: "ArrayBuffer", length: 2 ** 31 }, { [Symbol.toStringTag]: "Object", [Symbol.iterator]: refuse }];

const isPlain = (value) => typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer);

/** The same value, each question to which, however deep, goes to `asked` first; what that returns besides undefined is the answer. */
function watched(value, asked) {
  if (!isPlain(value)) return value;
  const traps = ["getPrototypeOf", "getOwnPropertyDescriptor", "has", "ownKeys", "isExtensible"].map((name) => [name, (...args) => (asked(name), Reflect[name](...args))]);
  const get = (target, name) => {
    const other = asked("get");
    return other ? other.answer : watched(Reflect.get(target, name), asked);
  };
  return new Proxy(value, { ...Object.fromEntries(traps), get });
}

/** The same value with a getter in the place of each field: unlike proxies, such objects are sent to workers. */
function withGetters(value, asked) {
  if (!isPlain(value)) return value;
  const copy = Array.isArray(value) ? [] : {};
  for (const [name, inner] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      enumerable: true,
      configurable: true,
      get() {
        const other = asked("get");
        return other ? other.answer : withGetters(inner, asked);
      },
    });
  }
  return copy;
}

const graph = JSON.parse(read("docs/guide/graph-json.md", "utf8").match(/```json\n(\{[\s\S]*?\n\})\n```/)[1]);
const summary = litecast.estimate(example, { name: "model.tflite", targets: ["ethos-u55-256", "ethos-u55-128"], detail: "summary" });
const report = { ...litecast.estimate(example, { name: "model.tflite", targets: ["cortex-m7-tflm"] }), edges: [], tensors: [] };
const devices = await (await entry("devices.node.js")).load();
const profile = "model,latency\nmodel.tflite,12 ms\n";
const device = devices.measure("Board", litecast.estimate(example, { name: "model.tflite" }), profile);
const options = { name: "a", batch: 1, threads: 1, dimensions: { n: 1 }, application: { ram_bytes: 1, flash_bytes: 1 }, targets: ["ethos-u55-256", { target: "ethos-u65-256", name: "b", clock_mhz: 500 }], detail: "summary", precision: "auto" };
const changes = { resolution: 1, width: 1, int8: true, low_memory_order: false };
const measurements = [1, 2, 3].map((ms) => ({ estimates_ms: { a: ms }, measured_ms: 2 * ms }));
const calibration = litecast.calibrate(measurements);
const { fits } = litecast.estimate(example);
const measured_choice = { target: "cortex-m7-tflm", name: "mine", measured_ms: 3, measured_device: device };

/** Every function that takes an object, with arguments that it takes. */
const CALLS = {
  estimate: [litecast, [example, options]],
  "estimate a graph": [litecast, [graph, { targets: ["ethos-u55-256"] }], "estimate"],
  analyze: [litecast, [graph, options]],
  estimateMany: [litecast, [[{ name: "a", bytes: example, batch: 1, threads: 1, dimensions: {}, sha256: "0".repeat(64) }, example, { bytes: graph }], options]],
  estimateChanged: [litecast, [example, changes, options]],
  "channels of estimateChanged": [litecast, [example, { channels: { from: 8, to: 16 } }, { targets: ["ethos-u55-256"] }], "estimateChanged"],
  leftOut: [litecast, [example, changes, options]],
  accelerators: [litecast, [{ words: 1 }]],
  inForce: [litecast, [{ target: "ethos-u55-128", clock_mhz: 100 }]],
  "inForce of a measured device": [litecast, [measured_choice], "inForce"],
  compare: [litecast, [summary, summary]],
  calibrate: [litecast, [measurements]],
  "calibrate with reports": [litecast, [[{ report: summary, measured_ms: 1 }, { report: summary, measured_ms: 2 }, { report: summary, measured_ms: 3 }]], "calibrate"],
  calibrated: [litecast, [calibration, { a: 1 }]],
  fits: [litecast, [fits.need, fits.application]],
  loadGpus: [litecast, [graph]],
  loadAccelerators: [litecast, [graph]],
  sweep: [litecast, [example, { latency_ms: 1, sram_bytes: 10, clock_mhz: 100 }, changes, options]],
  sweepBatch: [litecast, [example, "rtx-3090", changes, options]],
  measure: [devices, ["Board", report, profile, { threads: 1, profile_name: "p", clock_mhz: 100, like: "cortex-m7-tflm", device }]],
  baseFamilies: [devices, [{ bytes: [] }, 1]],
  read: [devices, [{ bytes: [] }]],
  next: [devices, [device, [report]]],
  command: [devices, ["file", { tool: "benchmark_model", threads: 1, target: "ethos-u55-128" }]],
  facts: [devices, [device]],
};

/** Which question throws, or is answered otherwise: each of the first, then ever fewer. */
function* questions() {
  for (let n = 0; ; n += n < 30 ? 1 : Math.ceil(n / 8)) yield n;
}

/** Calls with arguments of which the n-th question is `answered` on purpose; whether there was one. */
async function interrupted(call, args, wrap, n, answered) {
  let n_asked = 0;
  const asked = () => (n_asked++ === n ? answered() : undefined);
  try {
    await call(args.map((arg) => wrap(arg, asked)));
    return { was_asked: n_asked > n, error: null };
  } catch (error) {
    return { was_asked: n_asked > n, error };
  }
}

function assertOwn(error, words) {
  assert.ok(typeof error === "object" && error !== null && error !== pretended && error instanceof LitecastError, `${words}: another error than one of the package`);
  assert.ok(typeof error.kind === "string" && error.kind !== "internal", `${words}: ${error.message}`);
  assert.ok(error.message.length < 1000, words);
}

test("what an argument throws becomes the cause of an error with a kind, at each question that a call asks of it", async () => {
  for (const [name, [object, args, method = name]] of Object.entries(CALLS)) {
    let n_thrown = 0;
    let n_kept = 0;
    for (const wrap of [watched, withGetters]) {
      for (const n of questions()) {
        const thrown = THROWN[n % THROWN.length];
        const { was_asked, error } = await interrupted((wrapped) => object[method](...wrapped), args, wrap, n, () => {
          throw thrown;
        });
        if (!was_asked) break;
        // Text that is asked after the end of a call, or of a stage that needs no answer, changes nothing.
        if (error === null) continue;
        assertOwn(error, `${name}, question ${n}`);
        n_thrown += 1;
        // What is refused whatever it is need not be read for that.
        if (Object.is(error.cause, thrown)) n_kept += 1;
        else assert.match(error.message, /found a value that cannot be read/, `${name}, question ${n}`);
      }
    }
    console.log(`${name}: ${n_kept} of ${n_thrown} errors have what was thrown as their cause`);
    assert.ok(n_thrown > 0 && n_kept >= n_thrown - 1, name);
  }
});

test("arguments that answer otherwise when they are asked again end in a value or in an error with a kind", async () => {
  let n_calls = 0;
  for (const [name, [object, args, method = name]] of Object.entries(CALLS)) {
    for (const [which, answer] of ANSWERS.entries()) {
      for (const n of questions()) {
        const { was_asked, error } = await interrupted((wrapped) => object[method](...wrapped), args, watched, n, () => ({ answer }));
        if (!was_asked || n > 60) break;
        n_calls += 1;
        if (error !== null) assertOwn(error, `${name}, question ${n}, answer ${which}`);
      }
    }
  }
  console.log(`${n_calls} calls`);
});

test("promises and files that a program gives to load() fail with a kind", async () => {
  const { load: loadWorker } = await entry("worker.node.js");
  for (const thrown of THROWN) {
    const rejected = () => {
      const promise = Promise.reject(thrown);
      promise.catch(() => undefined);
      return promise;
    };
    const getter = { get then() { throw thrown; } };
    const body = { arrayBuffer: rejected };
    const of_files = [rejected(), getter, body, { arrayBuffer() { throw thrown; } }, { get arrayBuffer() { throw thrown; } }];
    const wrong = [
      { get predictor() { throw thrown; } },
      { predictor: { get network() { throw thrown; } } },
      ...of_files.flatMap((given) => [{ predictor: { network: given, manifest: "{}" } }, { predictor: { network: Uint8Array.of(8), manifest: given } }]),
      new Proxy({}, { ownKeys() { throw thrown; } }),
    ];
    for (const [which, given] of wrong.entries()) {
      for (const start of [load, loadWorker]) await assert.rejects(start(given), (error) => (assertOwn(error, `options ${which}`), Object.is(error.cause, thrown)));
    }
    // The module of this thread is loaded; that of a worker is asked for.
    for (const wasm of of_files) await assert.rejects(loadWorker({ wasm }), (error) => (assertOwn(error, "wasm"), Object.is(error.cause, thrown)));
    await assert.rejects(loadWorker({ get worker() { throw thrown; } }), (error) => (assertOwn(error, "worker"), Object.is(error.cause, thrown)));
  }
});

test("a worker refuses arguments that throw while they are sent, and goes on", async () => {
  const { load: loadWorker } = await entry("worker.node.js");
  const worker = await loadWorker();
  for (const [name, [object, args, method = name]] of Object.entries(CALLS)) {
    if (object !== litecast) continue;
    for (const n of [0, 1, 2, 5, 11]) {
      const thrown = THROWN[n % THROWN.length];
      const { was_asked, error } = await interrupted((wrapped) => worker[method](...wrapped), args, withGetters, n, () => {
        throw thrown;
      });
      if (was_asked && error !== null) assertOwn(error, `${name}, question ${n}`);
      if (was_asked) assert.ok(Object.is(error?.cause, thrown), `${name}, question ${n}`);
    }
  }
  assert.ok((await worker.estimate(example)).model.n_operators > 0);
  worker.dispose();
});

test("iterators that throw are closed, and an estimator that an argument disposes of says so", async () => {
  const mine = new Error("mine");
  const lists = {
    "in their first step": { [Symbol.iterator]() { throw mine; } },
    "in a later step": { *[Symbol.iterator]() { yield example; throw mine; } },
    "by no result": { [Symbol.iterator]: () => ({ next: () => 1 }) },
  };
  for (const [words, list] of Object.entries(lists)) {
    for (const method of ["estimateMany", "calibrate"]) assert.throws(() => litecast[method](list), (error) => (assertOwn(error, `${method} ${words}`), error.kind === "wrong-argument"));
  }
  const other = await load();
  const disposing = { get batch() { other.dispose(); return 1; } };
  assert.throws(() => other.estimate(example, disposing), ({ kind }) => kind === "disposed");
  // The file goes while the other options are read.
  const bytes = new Uint8Array(example);
  const detaching = { bytes, get batch() { structuredClone(bytes.buffer, { transfer: [bytes.buffer] }); return 1; } };
  assert.throws(() => litecast.estimateMany([detaching]), (error) => (assertOwn(error, "detached"), error.kind === "wrong-argument"));
});
