import { type Layout, type Range } from './layout.js';

/** A sentence with words of the query. */
export interface Sentence extends Range {
  /** The query's words in it. */
  readonly terms: ReadonlySet<number>;
  /** What its words are worth beyond each alone, because they stand beside each other as asked. */
  readonly together: number;
}

/** What a further passage with a word is worth beside the one before it. */
const AGAIN = 0.5;
/** What a word of the query is worth that stands near a sentence and not in it. */
const NEARBY = 0.4;
/** A passage must be worth this much of the best one. */
const WORTH_MIN = 0.3;
/** What a sentence gains that says more than the query did: numbers, names. */
const FACT = 0.08;
const FACTS_MAX = 3;
/** What a heading gains: what stands below it is about its words. */
const HEADING = 1.25;
/** So many of the best sentences are looked at. */
const SENTENCES_MAX = 24;

/** Unless it has words that no other has, of at least this share of the query's weight. */
const FRESH_MIN = 0.12;
/** No passage is cut to less than this, which is a sentence or two. */
const PASSAGE_LENGTH_MIN = 160;
/** What is shorter is no further passage. */
const SHARD_LENGTH_MAX = 60;
/** What of the room is given to the paragraphs around the best sentences; the rest to what follows. */
const PARAGRAPHS_SHARE = 0.8;

/** How many passages a description of this length has at the most. */
function passagesMax(lengthMax: number): number {
  return Math.min(6, 2 + Math.floor(lengthMax / 1_000));
}

export interface PassageRequest {
  /** What each word of the query is worth: its idf. */
  readonly weights: readonly number[];
  /** The words that the page's title says already. */
  readonly said: ReadonlySet<number>;
  /** UTF-16 code units for all passages. */
  readonly lengthMax: number;
  /** What a further passage costs. */
  readonly joiner: number;
}

const NONE: ReadonlySet<number> = new Set();

/** A sentence and what speaks for it. */
interface Candidate {
  readonly sentence: Sentence;
  /** The query's words around it that are not in it. */
  readonly nearby: ReadonlySet<number>;
  readonly facts: number;
  readonly isHeading: boolean;
}

/**
 * The passages that say most about a query, without overlap, in the text's order: each the paragraph
 * around one of the best sentences, under its heading, or the part of it that fits.
 *
 * A sentence is worth the weight of the query's words in it, and again of those that stand together;
 * less of those around it. What an earlier one says already is worth half each time, and what
 * is worth too little beside the best one is left out: there the room is better used for the
 * neighbourhood of the others.
 */
export function choosePassages(
  layout: Layout,
  sentences: readonly Sentence[],
  request: PassageRequest,
): Range[] {
  const { lengthMax, joiner } = request;
  const seeds = chooseSentences(layout, sentences, request);
  const total = seeds.reduce((sum, { worth }) => sum + worth, 0);
  const chosen: Range[] = [];
  let room = lengthMax;
  for (const { sentence, worth } of seeds) {
    if (isTaken(layout.text, chosen, sentence)) continue;
    const share = (PARAGRAPHS_SHARE * lengthMax * worth) / Math.max(total, worth);
    const passage = fitted(layout, sentence, chosen, Math.max(PASSAGE_LENGTH_MIN, share), room);
    if (!passage) continue;
    chosen.push(passage);
    room -= passage.end - passage.start + joiner;
  }
  return chosen.sort((a, b) => a.start - b.start);
}

/** The sentences that say most together, the best first. */
function chooseSentences(
  layout: Layout,
  sentences: readonly Sentence[],
  { weights, said: inTitle, lengthMax }: PassageRequest,
): { readonly sentence: Sentence; readonly worth: number }[] {
  const said = new Map([...inTitle].map((term) => [term, AGAIN]));
  const candidates = best(layout, sentences, weights, said);
  const most = passagesMax(lengthMax);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const chosen: { sentence: Sentence; worth: number }[] = [];
  let first = 0;
  while (chosen.length < most && candidates.length > 0) {
    const [at, worth] = bestOf(candidates, weights, said);
    const [candidate] = candidates.splice(at, 1);
    if (!candidate) break;
    let fresh = 0;
    for (const term of candidate.sentence.terms) if (!said.has(term)) fresh += weights[term] ?? 0;
    if (worth < WORTH_MIN * first && fresh < FRESH_MIN * total) continue;
    if (first === 0) first = worth;
    chosen.push({ sentence: candidate.sentence, worth });
    for (const term of candidate.sentence.terms) said.set(term, AGAIN * (said.get(term) ?? 1));
  }
  return chosen;
}

function best(
  layout: Layout,
  sentences: readonly Sentence[],
  weights: readonly number[],
  said: ReadonlyMap<number, number>,
): Candidate[] {
  const byParagraph = new Map<number, Set<number>>();
  const paragraphs = sentences.map(({ start, terms }) => {
    const number = layout.paragraphAt(start);
    const known = byParagraph.get(number);
    if (known) for (const term of terms) known.add(term);
    else byParagraph.set(number, new Set(terms));
    return number;
  });
  const nearbyOf = (sentence: Sentence, number: number): Set<number> => {
    const nearby = new Set<number>();
    for (let p = layout.firstHeadingOf(number); p <= layout.ledTo(number); p++) {
      for (const term of byParagraph.get(p) ?? []) if (!sentence.terms.has(term)) nearby.add(term);
    }
    return nearby;
  };
  const alone = sentences.map((sentence, i) => {
    const number = paragraphs[i] ?? 0;
    const candidate = {
      sentence,
      number,
      nearby: NONE,
      facts: 0,
      isHeading: layout.leadsOn(number),
    };
    return { candidate, worth: worthOf(candidate, weights, said) };
  });
  return alone
    .sort((a, b) => b.worth - a.worth || a.candidate.sentence.start - b.candidate.sentence.start)
    .slice(0, SENTENCES_MAX)
    .map(({ candidate: { sentence, number, isHeading } }) => ({
      sentence,
      nearby: nearbyOf(sentence, number),
      facts: factsIn(layout.text, sentence),
      isHeading,
    }));
}

function worthOf(
  { sentence, nearby, facts, isHeading }: Candidate,
  weights: readonly number[],
  said: ReadonlyMap<number, number>,
): number {
  let worth = 0;
  let fresh = 0;
  for (const term of sentence.terms) {
    const share = said.get(term) ?? 1;
    worth += share * (weights[term] ?? 0);
    fresh = Math.max(fresh, share);
  }
  for (const term of nearby) worth += NEARBY * (said.get(term) ?? 1) * (weights[term] ?? 0);
  return (worth + fresh * sentence.together) * (isHeading ? HEADING : 1 + FACT * facts);
}

/** Where the candidate is that is worth most, and what it is worth. */
function bestOf(
  candidates: readonly Candidate[],
  weights: readonly number[],
  said: ReadonlyMap<number, number>,
): [at: number, worth: number] {
  let [at, most] = [0, -1];
  for (const [i, candidate] of candidates.entries()) {
    const worth = worthOf(candidate, weights, said);
    if (worth > most) [at, most] = [i, worth];
  }
  return [at, most];
}

const WORD_CHARACTER = /[\p{L}\p{N}]/u;

/**
 * How many numbers and names a sentence has, as far as they count. A name is a word with a capital
 * letter that does not begin a sentence: one of ASCII, which is enough to tell.
 */
function factsIn(text: string, { start, end }: Range): number {
  let facts = 0;
  let isInWord = false;
  for (let at = start; at < end && facts < FACTS_MAX; at++) {
    const code = text.charCodeAt(at);
    const isDigit = code >= 0x30 && code <= 0x39;
    const isCapital = code >= 0x41 && code <= 0x5a;
    const wasInWord = isInWord;
    isInWord = isDigit || isCapital || (code >= 0x61 && code <= 0x7a) || code > 0x7f;
    if (wasInWord || !(isDigit || isCapital)) continue;
    if (isDigit || (at > start + 1 && goesOn(text, at))) facts++;
  }
  return facts;
}

/** Whether the word at `at` stands within a sentence: a space before it, and a word or a comma. */
function goesOn(text: string, at: number): boolean {
  const before = text.charAt(at - 2);
  return text.charAt(at - 1) === ' ' && (',;:'.includes(before) || WORD_CHARACTER.test(before));
}

/** Whether a sentence is in one of the passages, or stands word for word in one. */
function isTaken(text: string, chosen: readonly Range[], { start, end }: Range): boolean {
  const own = text.slice(start, end);
  return chosen.some((passage) => {
    if (start < passage.end && passage.start < end) return true;
    const at = text.indexOf(own, passage.start);
    return at >= 0 && at + own.length <= passage.end;
  });
}

/** The paragraph around a sentence that fits beside the chosen passages; else the sentence alone. */
function fitted(
  layout: Layout,
  sentence: Sentence,
  chosen: readonly Range[],
  size: number,
  room: number,
): Range | undefined {
  const lower = chosen.reduce(
    (least, { end }) => (end <= sentence.start ? Math.max(least, end) : least),
    0,
  );
  const upper = chosen.reduce(
    (most, { start }) => (start >= sentence.end ? Math.min(most, start) : most),
    layout.text.length,
  );
  const within = ({ start, end }: Range): Range => ({
    start: Math.max(lower, start),
    end: Math.min(upper, end),
  });
  const fits = [around(layout, sentence, size), around(layout, sentence, 0), sentence]
    .map((range) => within(withMore(layout, range)))
    .find(({ start, end }) => end - start <= room);
  const isShard = fits && chosen.length > 0 && fits.end - fits.start < SHARD_LENGTH_MAX;
  return isShard ? undefined : fits;
}

/** A range with what follows it, where it would be a shard alone. */
function withMore(layout: Layout, range: Range): Range {
  if (range.end - range.start >= SHARD_LENGTH_MAX) return range;
  const next = layout.after(range.end, layout.text.length, PASSAGE_LENGTH_MIN);
  return { start: range.start, end: next?.end ?? range.end };
}

/**
 * The paragraph around a sentence under its heading, or a part of it of about `size`; a heading with
 * at least a sentence below it.
 */
function around(layout: Layout, sentence: Sentence, size: number): Range {
  const number = layout.paragraphAt(sentence.start);
  const paragraph = layout.paragraph(number);
  const heading = layout.paragraph(layout.firstHeadingOf(number)).start;
  const led = layout.ledTo(number);
  const whole = { start: heading, end: layout.paragraph(led).end };
  if (whole.end - whole.start <= size) return whole;
  const starts = [heading, paragraph.start];
  const start = starts.find((one) => sentence.end - one <= 0.6 * size) ?? sentence.start;
  let { end } = sentence;
  for (let isOpen = led > number; end < whole.end; isOpen = false) {
    const next = layout.after(end, whole.end, start + size - end);
    if (!next || (next.end - start > size && !isOpen)) break;
    end = next.end;
  }
  return { start, end };
}
