/**
 * node index-forever.js DIRECTORY FIRST_ROUND PAGES: replaces all pages round by round, commits and
 * merges, and tells its parent each round that is committed, until it is killed.
 */
import { openWriter } from '../../search-core/index/open-writer.js';

const [path = '', first = '', pages = ''] = process.argv.slice(2);
const writer = await openWriter(path);
for (let round = Number(first); ; round++) {
  for (let n = 0; n < Number(pages); n++) {
    const text = `This is round ${round} of page ${n}. `.repeat(1 + (n % 5));
    await writer.put({ url: `https://example.test/${n}`, title: `Page ${n}`, text });
  }
  await writer.commit();
  process.send?.(round);
  await writer.merge();
  if (round % 4 === 3) await writer.compact();
  await new Promise((resolve) => setImmediate(resolve));
}
