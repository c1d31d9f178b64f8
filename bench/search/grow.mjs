// A larger corpus from a smaller one, for measuring at sizes that the material does not have.
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { pagesOf, WORDS } from './corpus.mjs';

/** Words that the source has at most so often may be replaced by coined ones. */
const RARE_MAX = 4;

/** Numbers in [0, 1) from a seed (mulberry32), so that every run makes the same corpus. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Writes the pages of `file` to `out`, then made ones until there are `count`.
 *
 * A made page has the title of one page, the length of another, and paragraphs drawn from all:
 * frequent words stay as frequent as they are, sentences are whole, no two pages are the same.
 * Paragraphs that come back would leave the vocabulary as it is, while that of real text grows as
 * K · n^β with its n words (Heaps, "Information retrieval", 1978; K and β are fitted to the source
 * in random order, at half of its words and at all). So rare words of made pages are replaced: half of them by new
 * ones, coined from the halves of two rare words until the vocabulary has grown as it should, half
 * by an earlier coined one, which is the likelier the more often it was used (Simon, "On a class
 * of skew distribution functions", 1955), so that coined words have frequencies like real ones.
 */
export async function grow(file, count, out) {
  const pages = [];
  for await (const page of pagesOf(file)) pages.push(page);
  const random = seeded(402);
  const source = vocabularyOf(shuffled(pages, random));
  const any = (list) => list[Math.floor(random() * list.length)];
  const coin = coiner(source, any, random);
  const paragraphs = pages.map(({ text }) => text.split(/\n\n+/));
  const stream = createWriteStream(out);
  const write = async (page) => {
    if (!stream.write(`${JSON.stringify(page)}\n`)) await once(stream, 'drain');
  };
  for (const page of pages.slice(0, count)) await write(page);
  for (let n = pages.length; n < count; n++) {
    const length = any(pages).text.length;
    const parts = [];
    for (let size = 0; size < length;) {
      const part = any(any(paragraphs));
      parts.push(part);
      size += part.length + 2;
    }
    const text = coin(parts.join('\n\n').slice(0, length + 500));
    await write({ url: `https://made.example/${n}`, title: any(pages).title, text });
  }
  stream.end();
  await once(stream, 'close');
  return { heaps: source.heaps, words: source.words, distinct: source.counts.size };
}

function shuffled(list, random) {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

/** How often the source has each word, and the law by which its vocabulary grows. */
function vocabularyOf(pages) {
  const counts = new Map();
  let words = 0;
  const curve = [];
  for (const { text } of pages) {
    for (const [word] of text.toLowerCase().matchAll(WORDS)) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
      words++;
    }
    curve.push([words, counts.size]);
  }
  const [halfWords, halfDistinct] = curve.find(([n]) => n >= words / 2);
  const beta = Math.log(counts.size / halfDistinct) / Math.log(words / halfWords);
  return { counts, words, heaps: { k: counts.size / words ** beta, beta } };
}

/** A function that gives a made page's text its share of words that are not in the source. */
function coiner({ counts, words, heaps }, any, random) {
  const rare = [...counts].filter(([, n]) => n <= RARE_MAX).map(([word]) => word);
  const coined = [];
  let total = words;
  let owed = 0;
  const size = (n) => heaps.k * n ** heaps.beta;
  return (text) => {
    const matches = [...text.matchAll(WORDS)];
    owed += size(total + matches.length) - size(total);
    total += matches.length;
    const out = [];
    let at = 0;
    for (const { 0: word, index } of matches) {
      if (owed < 1) break;
      if ((counts.get(word.toLowerCase()) ?? 0) > RARE_MAX) continue;
      let next;
      if (coined.length > 0 && random() < 0.5) next = any(coined);
      else {
        const [head, tail] = [any(rare), any(rare)];
        next = head.slice(0, (head.length + 1) >> 1) + tail.slice(tail.length >> 1);
        owed--;
      }
      coined.push(next);
      out.push(text.slice(at, index), next);
      at = index + word.length;
    }
    out.push(text.slice(at));
    return out.join('');
  };
}
