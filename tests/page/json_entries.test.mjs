/** Entries of an object of lists, read in pieces of any length, against `JSON.parse` of the whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { EntryReader } = await importSource("worker/json_entries.ts");
const NAMES = ["version", "settings", "lists", "é\"\\ "];
const ANY = { entries: Infinity, bytes: Infinity, total_bytes: Infinity };
const LIMITS = Object.fromEntries(NAMES.map((name) => [name, ANY]));

function read(source, piece, limits = LIMITS) {
  const bytes = Buffer.from(source);
  const reader = new EntryReader(limits);
  const entries = [];
  for (let at = 0; at < bytes.length; at += piece) entries.push(...reader.push(new Uint8Array(bytes.subarray(at, at + piece))));
  return { entries, is_whole: reader.isWhole(), is_broken: reader.isBroken(), n_left_out: reader.n_left_out };
}

/** What a reader gives of an object. */
const entriesOf = (object) => Object.entries(object).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((value) => ({ name, value })));

const TEXTS = ["", "\\", "\\\\\"", "],}", "{\"a\":[", "é😀", "\u2028", "a".repeat(300)];

function anyValue(random, depth = 0) {
  const pick = (values) => values[Math.floor(values.length * random())];
  const n = Math.floor(4 * random());
  const kind = Math.floor((depth < 3 ? 6 : 4) * random());
  if (kind === 0) return pick(TEXTS);
  if (kind === 1) return pick([null, true, false, 0, -1.5e300]);
  if (kind === 2) return [];
  if (kind === 3) return {};
  if (kind === 4) return Array.from({ length: n }, () => anyValue(random, depth + 1));
  return Object.fromEntries(Array.from({ length: n }, () => [pick(TEXTS), anyValue(random, depth + 1)]));
}

test("entries are those of the whole object, in pieces of any length", () => {
  const random = randomNumbers(7301);
  for (let i = 0; i < 3000; i += 1) {
    const object = Object.fromEntries(NAMES.filter(() => random() < 0.8).map((name) => [name, anyValue(random)]));
    const source = JSON.stringify(object, null, Math.floor(3 * random()));
    const { entries, is_whole } = read(source, 1 + Math.floor(20 * random()));
    assert.deepEqual(entries, entriesOf(object), source);
    assert.ok(is_whole, source);
    const cut = read(source.slice(0, -1 - Math.floor((source.length - 1) * random())), 7);
    assert.ok(!cut.is_whole, source);
    assert.deepEqual(cut.entries, entries.slice(0, cut.entries.length), "what is whole before the cut");
  }
});

test("what is no JSON is an entry without a value, or ends it", () => {
  const entry = (name, value) => ({ name, value });
  for (const [source, entries, is_whole] of [
    ["", [], false],
    ["[1]", [], false],
    ["nonsense", [], false],
    ["{}", [], true],
    ["{} {", [], false],
    ['{"lists":[1,,x,{]},"]","2]}', [entry("lists", 1), entry("lists", undefined), entry("lists", undefined), entry("lists", undefined)], false],
    ['{"lists":[1}', [entry("lists", 1)], false],
    ['{"lists":[],"version":3}', [entry("version", 3)], true],
    ['{"other":[1,2],"version":}', [], true],
    ['{"version":1,"__proto__":[1],"version":2}', [entry("version", 1), entry("version", 2)], true],
    ['{"version":"\xff\ud800"}', [entry("version", "ÿ\ufffd")], true],
  ]) {
    for (const piece of [1, 1000]) {
      const found = read(source, piece);
      assert.deepEqual(found.entries, entries, source);
      assert.equal(found.is_whole, is_whole, source);
    }
  }
});

test("nothing is made of what has more than it may", () => {
  const limits = { lists: { entries: 3, bytes: 10, total_bytes: 20 } };
  assert.deepEqual(read('{"lists":[1,2,3,4,5]}', 4, limits), { entries: [1, 2, 3].map((value) => ({ name: "lists", value })), is_whole: true, is_broken: false, n_left_out: 2 });
  assert.deepEqual(read(`{"lists":["123456","123456789"]}`, 4, limits).entries.map(({ value }) => value), ["123456", undefined]);
  assert.equal(read('{"lists":["1234567","1234567","1234567"]}', 4, limits).n_left_out, 1);
  const names = Array.from({ length: 1001 }, (_, i) => `"n${i}":0`);
  assert.ok(read(`{${names.slice(1)}}`, 1000).is_whole);
  assert.ok(read(`{${names}}`, 1000).is_broken);
  const n = 8_000_001;
  assert.deepEqual(read(`{"lists":[[${"[],".repeat(n / 3)}0],1]}`, 1 << 20).entries, [undefined, 1].map((value) => ({ name: "lists", value })));
});
