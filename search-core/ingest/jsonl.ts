/** Pages from JSON Lines: one object a line with `url`, `title` and `text`; other keys are ignored. */
import { linesOf } from './input.js';
import { PAGE_LIMITS, type Page } from './page.js';
import type { Tally } from './tally.js';
import { cleanLine, cleanText, cut } from './text.js';
import { pageUrl } from './url.js';

const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Why a line is no page. */
type LineFault =
  | 'line_too_long'
  | 'invalid_json'
  | 'not_an_object'
  | 'invalid_url'
  | 'missing_title'
  | 'missing_text';

/**
 * The pages of a JSON Lines stream, in its order. Lines that are no page are counted in `tally`
 * with their numbers and left out; blank lines are ignored. Constant memory: a line holds 16 MB
 * at the most. `onLine` is told every line's number; the first `skip` lines are not looked at.
 */
export async function* jsonlPages(
  bytes: AsyncIterable<Buffer>,
  tally: Tally,
  onLine: (number: number) => void = () => undefined,
  skip = 0,
): AsyncIterable<Page> {
  for await (const line of linesOf(bytes, LINE_BYTES_MAX)) {
    onLine(line.number);
    if (line.number <= skip) continue;
    const page = line.bytes ? pageOfLine(line.bytes.toString('utf8')) : 'line_too_long';
    if (page === undefined) continue;
    if (typeof page === 'string') {
      tally.drop(page, `line ${line.number}`);
    } else {
      tally.keep();
      yield page;
    }
  }
}

function pageOfLine(line: string): Page | LineFault | undefined {
  const json = line.startsWith('\uFEFF') ? line.slice(1) : line;
  if (json.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return 'invalid_json';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_an_object';
  return pageOfObject(value);
}

function pageOfObject(value: object): Page | LineFault {
  const field = (name: string): string => {
    const found: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    return typeof found === 'string' ? found : '';
  };
  const url = pageUrl(field('url').trim());
  if (url === undefined) return 'invalid_url';
  const title = cut(cleanLine(field('title')), PAGE_LIMITS.title);
  if (title === '') return 'missing_title';
  const text = cut(cleanText(field('text')), PAGE_LIMITS.text);
  if (text === '') return 'missing_text';
  return { url, title, text };
}
