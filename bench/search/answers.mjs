// Draws questions with known answers from long pages, where a description has to leave something out.
// The same pages always give the same questions.
const SENTENCE = /(?<=[.!?]\s)[A-Z][^.!?\n]{60,300}\d[^.!?\n]{0,120}[.](?=\s)/gu;
const SECTION = /(?<=\n\n)([A-Z][^\n.!?:;]{8,70})\n\n([A-Z][^\n]{80,})/gu;
const TEXT_LENGTH_MIN = 6_000;
const WORDS_MIN = 3;
const WORDS_MAX = 6;
const ANSWER_LENGTH = 200;

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}]{3,}/gu) ?? [];

/** A generator of numbers below 1 (mulberry32). */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How many of 4,000 pages each word is in. */
function frequencies(pages, next) {
  const frequency = new Map();
  for (let i = 0; i < 4_000; i++) {
    const [, text] = pages[Math.floor(next() * pages.length)];
    for (const word of new Set(wordsOf(text))) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  return (word) => frequency.get(word) ?? 0;
}

const DRAWS = {
  /** A sentence with a number, asked for by some of its rarer words; the answer is the sentence. */
  sentences(text, title, frequency, next) {
    const found = text.match(SENTENCE) ?? [];
    const answer = found[Math.floor(next() * found.length)];
    if (answer === undefined) return undefined;
    const words = [...new Set(wordsOf(answer))];
    const count = WORDS_MIN + Math.floor(next() * (WORDS_MAX - WORDS_MIN + 1));
    const rare = [...words].sort((a, b) => frequency(a) - frequency(b)).slice(0, 2 * count);
    while (rare.length > count) rare.splice(Math.floor(next() * rare.length), 1);
    return rare.length < count
      ? undefined
      : { words: words.filter((w) => rare.includes(w)), answer };
  },
  /** A section, asked for by its heading and two words of the page's title; the answer is how it begins. */
  sections(text, title, frequency, next) {
    const found = [...text.matchAll(SECTION)];
    const [, heading, body] = found[Math.floor(next() * found.length)] ?? [];
    if (heading === undefined) return undefined;
    const topic = wordsOf(title)
      .sort((a, b) => frequency(a) - frequency(b))
      .slice(0, 2);
    return {
      words: [...new Set([...topic, ...wordsOf(heading)])].slice(0, 9),
      answer: body.slice(0, ANSWER_LENGTH).trim(),
    };
  },
};

/**
 * @param kind `sentences` or `sections`
 * @param pages URL → title and text
 * @param count how many questions
 */
export function drawAnswers(kind, pages, count) {
  const next = random(402);
  const long = [...pages]
    .map(([url, { title, text }]) => [url, text, title])
    .filter(([, text]) => text.length >= TEXT_LENGTH_MIN);
  const frequency = frequencies(long, next);
  const drawn = [];
  for (let tries = 0; drawn.length < count && tries < 50 * count; tries++) {
    const [url, text, title] = long[Math.floor(next() * long.length)];
    const question = DRAWS[kind](text, title, frequency, next);
    if (question) drawn.push({ q: question.words.join(' '), target: url, answer: question.answer });
  }
  return drawn;
}
