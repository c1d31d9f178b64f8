import { eld } from 'eld/small';

/** Characters of prose that decide; more do not change the answer. */
const SAMPLE = 1_500;
/** A line with fewer words says little about the language: code, labels, menus. */
const WORDS_IN_LINE_MIN = 3;

/**
 * Whether a text is English, by eld's n-gram detector. A text on which the detector itself says
 * that it is unsure counts as English when most of its letters are plain Latin ones: that is what
 * pages made of code and identifiers look like.
 */
export function isEnglish(text: string): boolean {
  const sample = prose(text);
  const found = eld.detect(sample);
  if (found.language === 'en') return true;
  return !found.isReliable() && plainLatinShare(sample) > 0.98;
}

function prose(text: string): string {
  let sample = '';
  let from = 0;
  while (sample.length < SAMPLE && from < text.length) {
    const end = text.indexOf('\n', from);
    const line = text.slice(from, end < 0 ? text.length : end).slice(0, SAMPLE);
    if ((line.match(/\p{L}{2,}/gu) ?? []).length >= WORDS_IN_LINE_MIN) sample += `${line}\n`;
    from = end < 0 ? text.length : end + 1;
  }
  return sample === '' ? text.slice(0, SAMPLE) : sample;
}

function plainLatinShare(text: string): number {
  const letters = text.match(/\p{L}/gu) ?? [];
  return letters.filter((letter) => letter <= 'z').length / Math.max(1, letters.length);
}
