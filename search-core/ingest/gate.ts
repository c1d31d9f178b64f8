/** What pages of the open web must pass before they may be indexed. */
import { createTextSet } from './dedupe/exact.js';
import { createNearSet } from './dedupe/near.js';
import { type Fingerprint, hash, simhash } from './dedupe/simhash.js';
import { isEnglish } from './language.js';
import type { Page } from './page.js';
import { qualityFault, type QualityFault } from './quality.js';

/** Why a page was turned away. */
type GateFault =
  | QualityFault
  | 'not_english'
  /** Another page of this run has the same address. */
  | 'duplicate_url'
  /** Another page of this run has the same words. */
  | 'duplicate_text'
  /** Another page of this run has the same title and nearly the same words. */
  | 'near_duplicate';

/** Below so many characters a fingerprint says too little: only equal texts are duplicates. */
const NEAR_TEXT_LENGTH_MIN = 400;

export interface Gate {
  /** Lets a page in (undefined), or says why not. Whoever is let in is remembered. */
  admit(page: Page): GateFault | undefined;
  /** Remembers a page that an earlier part of this run let in. */
  remember(page: Page): void;
}

/** About 70 bytes of memory for each page that was let in. */
export function createGate(): Gate {
  const urls = createTextSet();
  const texts = createTextSet();
  const near = createNearSet();
  return {
    admit: (page) => {
      const fault = contentFault(page);
      if (fault !== undefined) return fault;
      if (!urls.add(page.url)) return 'duplicate_url';
      if (!texts.add(wordsOf(page.text))) return 'duplicate_text';
      const fingerprint = fingerprintOf(page);
      if (fingerprint && near.hasNear(fingerprint, tagOf(page))) return 'near_duplicate';
      if (fingerprint) near.add(fingerprint, tagOf(page));
      return undefined;
    },
    remember: (page) => {
      urls.add(page.url);
      texts.add(wordsOf(page.text));
      const fingerprint = fingerprintOf(page);
      if (fingerprint) near.add(fingerprint, tagOf(page));
    },
  };
}

/** What a page must be by itself, whatever other pages say. */
export function contentFault({ text }: Page): QualityFault | 'not_english' | undefined {
  return qualityFault(text) ?? (isEnglish(text) ? undefined : 'not_english');
}

/** The fingerprint of a page's text, where it is long enough to have one. */
export function fingerprintOf({ text }: Page): Fingerprint | undefined {
  return text.length < NEAR_TEXT_LENGTH_MIN ? undefined : simhash(text);
}

/** A hash of the title: only pages that have one title can be near duplicates. */
export function tagOf({ title }: Page): number {
  return hash(wordsOf(title));
}

/** A text without case, punctuation and spaces: equal ones say the same. */
export function wordsOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ');
}
