// A ZIP archive as MCPB bundles need it: a few small files, deflated (PKWARE APPNOTE 6.3, 4.3).
import { crc32, deflateRawSync } from 'node:zlib';

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
const VERSION = 20;
const UTF8 = 1 << 11;
const DEFLATE = 8;
/** 1 January 1980, the first day there is: the same files make the same archive. */
const DATE = (1 << 5) | 1;

/** @param {Readonly<Record<string, Buffer>>} files contents by path */
export function zip(files) {
  const locals = [];
  const central = [];
  let offset = 0;
  for (const [path, content] of Object.entries(files)) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content);
    const common = numbers([
      [VERSION, UTF8, DEFLATE, 0, DATE],
      [crc32(content), packed.length, content.length],
      [name.length, 0],
    ]);
    locals.push(numbers([[], [LOCAL]]), common, name, packed);
    central.push(
      numbers([[], [CENTRAL], [VERSION]]),
      common,
      numbers([
        [0, 0, 0],
        [0, offset],
      ]),
      name,
    );
    offset += 4 + common.length + name.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const count = Object.keys(files).length;
  const end = numbers([[], [END], [0, 0, count, count], [directory.length, offset], [0]]);
  return Buffer.concat([...locals, directory, end]);
}

/** Little-endian numbers: lists of two bytes each and lists of four take turns. */
function numbers(lists) {
  const parts = lists.map((list, index) => {
    const size = index % 2 === 0 ? 2 : 4;
    const buffer = Buffer.alloc(list.length * size);
    list.forEach((value, at) => buffer.writeUIntLE(value, at * size, size));
    return buffer;
  });
  return Buffer.concat(parts);
}
