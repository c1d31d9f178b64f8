import { readFileSync } from 'node:fs';
import { REFUSALS, type RefusalCode } from '../../../ground/domain/refusal.js';

interface ErrorText {
  readonly what: string;
  readonly next: string;
}

/** What stands where `docs/errors.md` does not know a code yet: a test keeps it from being needed. */
const IN_DETAIL: ErrorText = { what: '`detail` says it', next: '`detail` says it' };

/** What each refusal means and what to do about it, from the one table of them: `docs/errors.md`. */
export function errorTexts(): readonly (readonly [RefusalCode, ErrorText])[] {
  const file = readFileSync(new URL('../../../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...file.matchAll(/^\| `(\w+)` +\| \d+ +\| (.*?) +\| (.*?) +\|$/gm)];
  const texts = new Map(
    rows.map(([, code = '', what = '', next = '']) => [
      code,
      { what: plain(what), next: plain(next) },
    ]),
  );
  return (Object.keys(REFUSALS) as RefusalCode[]).map((code) => [
    code,
    texts.get(code) ?? IN_DETAIL,
  ]);
}

const plain = (text: string): string => text.replaceAll('**', '');
