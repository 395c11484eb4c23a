/** Writes zip archives, apart from the reader that the page uses: deflated entries, as in APPNOTE 6.3. */
import { crc32, deflateRawSync } from "node:zlib";

/** Bytes of an archive with these entries. */
export function zipOf(entries) {
  const locals = [];
  const central = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(entries)) {
    const packed = deflateRawSync(bytes);
    const words = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version needed
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(words.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, words, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), common, rest, words]));
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
