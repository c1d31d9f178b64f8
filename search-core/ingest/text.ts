/**
 * Text as the index keeps it: no control or invisible characters, single spaces, at most one blank
 * line between paragraphs, no half characters.
 */

import { withoutInvisible } from './invisible.js';

const CONTROL = /[\u0000-\u0008\u000E-\u001F\u007F-\u009F]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;

function withoutDebris(text: string): string {
  return withoutInvisible(text).replace(CONTROL, ' ').replace(LONE_SURROGATE, '\uFFFD');
}

/** Several lines of text; line breaks and single blank lines stay. */
export function cleanText(text: string): string {
  return withoutDebris(text)
    .replace(/\r\n?|[\u2028\u2029\v\f]/gu, '\n')
    .replace(/[^\S\n]+/gu, ' ')
    .replace(/ ?\n ?/gu, '\n')
    .replace(/\n{3,}/gu, '\n\n')
    .trim();
}

/** One line of text: a title, a heading. */
export function cleanLine(text: string): string {
  return withoutDebris(text).replace(/\s+/gu, ' ').trim();
}

/** The first `length` UTF-16 code units at the most, never half a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? length - 1 : length);
}

/** At most `length` code units, cut between words, with an ellipsis where something is left out. */
export function cutAtWord(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = cut(text, length - 1);
  const space = head.lastIndexOf(' ');
  return `${(space > length / 2 ? head.slice(0, space) : head).replace(/[\s,;:.–-]+$/u, '')}…`;
}
