// Judges a description beside the text of the page that it was made from. It knows nothing of how
// descriptions are made: it finds the fragments in the text and looks at what stands around them.

/** What stands between fragments: today's joiner, and the one before it. */
const JOINER = /\n…\n| … /u;
const JOINERS = ['\n…\n', ' … '];
/** What ends a sentence or leads to the next line, with what may close behind it. */
const CLOSED = /[.!?…:;][)\]"'”’»*]*$/u;
const FRAGMENT_LENGTH_MIN = 60;
/** Shorter lines may well stand twice in a page: `Example`, `}`. */
const REPEAT_LENGTH_MIN = 40;

/** The fragments of a description with their places in the text; a joiner of the page's own is none. */
export function fragmentsOf(description, text) {
  const parts = [];
  for (const part of description.split(JOINER)) {
    const last = parts.at(-1);
    const joined =
      last && JOINERS.map((joiner) => last + joiner + part).find((one) => text.includes(one));
    if (joined) parts[parts.length - 1] = joined;
    else parts.push(part);
  }
  let from = 0;
  return parts.map((part) => {
    const after = text.indexOf(part, from);
    const start = after >= 0 ? after : text.indexOf(part);
    if (start >= 0) from = start + part.length;
    return { text: part, start, end: start + part.length };
  });
}

/** Whether a reader sees that something is missing before `start`. */
function startsInside(text, start) {
  const before = text.slice(0, start);
  if (before.trim() === '') return false;
  const gap = /\s*$/u.exec(before)?.[0] ?? '';
  const isClosed = CLOSED.test(before.trimEnd());
  if (gap.includes('\n\n')) return false;
  if (!gap.includes('\n')) return !isClosed;
  return !isClosed && /^\p{Ll}/u.test(text.slice(start));
}

/** Whether a reader sees that something is missing behind `end`. */
function endsInside(text, end) {
  return (
    end < text.length && startsInside(text, end + (/^\s+/u.exec(text.slice(end))?.[0].length ?? 0))
  );
}

/** Lines and sentences that another fragment has, too. */
function repeatsIn(fragments) {
  const seen = new Set();
  let repeats = 0;
  for (const { text } of fragments) {
    const lines = new Set(
      text.split(/\n|(?<=[.!?]) /u).filter(({ length }) => length >= REPEAT_LENGTH_MIN),
    );
    for (const line of lines) if (seen.has(line)) repeats++;
    for (const line of lines) seen.add(line);
  }
  return repeats;
}

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * @param query the text of the query
 * @param answer a piece of the text that answers it, where one is known
 */
export function judge({ description, text, query, answer }) {
  const fragments = fragmentsOf(description, text);
  const isWhole = fragments.length === 1 && description.length >= text.length;
  const inText = new Set(wordsOf(text));
  const wanted = [...new Set(wordsOf(query))].filter((word) => inText.has(word));
  const shown = new Set(wordsOf(description));
  return {
    isWhole,
    length: description.length,
    fragments: fragments.length,
    short: isWhole
      ? 0
      : fragments.filter(({ text: { length } }) => length < FRAGMENT_LENGTH_MIN).length,
    startsInside: fragments.filter(({ start }) => startsInside(text, start)).length,
    endsInside: fragments.filter(({ end }) => endsInside(text, end)).length,
    lower: fragments.filter((one) => one.start > 0 && /^\p{Ll}/u.test(one.text)).length,
    foreign: fragments.filter(({ start }) => start < 0).length,
    repeats: repeatsIn(fragments),
    words:
      wanted.length === 0 ? 1 : wanted.filter((word) => shown.has(word)).length / wanted.length,
    holdsAnswer: answer === undefined ? undefined : description.includes(answer),
  };
}

const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

/** The judgements of many descriptions in one row; of those that leave something out. */
export function summary(judgements) {
  const cut = judgements.filter(({ isWhole }) => !isWhole);
  const fragments = sum(cut, (one) => one.fragments);
  const share = (key) => ((100 * sum(cut, (one) => one[key])) / Math.max(1, fragments)).toFixed(1);
  const length = sum(cut, (one) => one.length);
  const answered = judgements.filter(({ holdsAnswer }) => holdsAnswer !== undefined);
  return {
    descriptions: judgements.length,
    'leave something out': cut.length,
    'ellipses per 1,000': ((1000 * (fragments - cut.length)) / Math.max(1, length)).toFixed(2),
    'characters a fragment': Math.round(length / Math.max(1, fragments)),
    'fragments under 60, %': share('short'),
    'begin inside a sentence, %': share('startsInside'),
    'begin in lower case, %': share('lower'),
    'end inside a sentence, %': share('endsInside'),
    'not in the page, %': share('foreign'),
    'repeated lines a description': (
      sum(cut, (one) => one.repeats) / Math.max(1, cut.length)
    ).toFixed(2),
    'query words shown, %': (
      (100 * sum(cut, (one) => one.words)) /
      Math.max(1, cut.length)
    ).toFixed(1),
    'room used, characters': Math.round(length / Math.max(1, cut.length)),
    ...(answered.length > 0 && {
      'answers shown, %': (
        (100 * answered.filter((one) => one.holdsAnswer).length) /
        answered.length
      ).toFixed(1),
    }),
  };
}
