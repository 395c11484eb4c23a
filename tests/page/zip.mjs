/** Writes zip archives, apart from the reader that the page uses: deflated entries, as in APPNOTE 6.3. */
import { crc32, deflateRawSync } from "node:zlib";

/** Bytes of an archive with these entries. */
export function zipOf(entries) {
  return zipOfList(Object.entries(entries).map(([name, bytes]) => ({ name, bytes })));
}

/**
 * As `zipOf`, of entries that may lie: `name` may be bytes, `size` and `packed_size` are the announced lengths, and `at` is
 * the index of an entry whose bytes this one says to have. `extra` and `comment` stand in the list of entries alone.
 */
export function zipOfList(entries) {
  const locals = [];
  const central = [];
  const offsets = [];
  let offset = 0;
  for (const { name, bytes = Buffer.alloc(0), size = bytes.length, at, packed = deflateRawSync(bytes), packed_size = packed.length, extra = Buffer.alloc(0), comment = "" } of entries) {
    const words = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version needed
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed_size, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(words.length, 22);
    const local = at === undefined ? Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, words, packed]) : Buffer.alloc(0);
    const rest = Buffer.alloc(14);
    offsets.push(at === undefined ? offset : offsets[at]);
    rest.writeUInt32LE(offsets.at(-1), 10);
    const listed = Buffer.from(common);
    listed.writeUInt16LE(extra.length, 24);
    rest.writeUInt16LE(comment.length, 0);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), listed, rest, words, extra, Buffer.from(comment)]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(central.length, 4);
  end.writeUInt16LE(central.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06", "latin1"), end]);
}
