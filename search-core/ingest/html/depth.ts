/** Deeper elements than that are left out; browsers stop at 512. */
const DEPTH_MAX = 512;

/** Elements without an end tag (WHATWG HTML, 13.1.2). */
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
);
/** Elements whose end tag may be left out: the next of their kind ends them (13.1.2.4). */
const IMPLIED = new Set('p li dt dd tr td th option optgroup thead tbody tfoot'.split(' '));
/** Elements whose content is no markup (13.1.2). */
const RAW = new Set(['script', 'style', 'textarea', 'title']);

/**
 * Leaves out the tags of elements that are nested too deeply, and keeps their text. Parsers take time
 * and memory that grow with the square of the depth, so this looks before they do, in one pass.
 */
export function withoutDepth(html: string): string {
  const open: string[] = [];
  const kept: string[] = [];
  let dropped = 0;
  let from = 0;
  const drop = ({ start, end }: Tag) => {
    kept.push(html.slice(from, start));
    from = end;
  };
  for (let tag = nextTag(html, 0); tag; tag = nextTag(html, tag.next)) {
    const { name, kind } = tag;
    const isAlone = VOID.has(name) || (kind === 'self-closing' && isForeign(open));
    if (isAlone) continue;
    if (kind === 'end' && dropped > 0) {
      dropped -= 1;
      drop(tag);
    } else if (kind === 'end') {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.length = at;
    } else if (!(IMPLIED.has(name) && open.at(-1) === name)) {
      if (open.length < DEPTH_MAX) open.push(name);
      else {
        dropped += 1;
        drop(tag);
      }
    }
  }
  return from === 0 ? html : kept.join('') + html.slice(from);
}

/** Only there does a slash close a tag (13.1.2.1). */
const isForeign = (open: readonly string[]) => open.includes('svg') || open.includes('math');

interface Tag {
  /** In lower case. */
  readonly name: string;
  readonly kind: 'start' | 'end' | 'self-closing';
  /** Where its `<` is. */
  readonly start: number;
  /** Behind its `>`. */
  readonly end: number;
  /** Where to look for the next one. */
  readonly next: number;
}

const NAME = /[a-z][^\s/>]{0,63}/iuy;

/** The next tag at or behind a place; undefined when there is none. Never looks back. */
function nextTag(html: string, from: number): Tag | undefined {
  for (let start = html.indexOf('<', from); start >= 0; start = html.indexOf('<', start + 1)) {
    if (html.startsWith('<!--', start)) {
      const end = html.indexOf('-->', start);
      if (end < 0) return undefined;
      start = end;
      continue;
    }
    const isEnd = html[start + 1] === '/';
    NAME.lastIndex = start + (isEnd ? 2 : 1);
    const name = NAME.exec(html)?.[0].toLowerCase();
    if (name === undefined) continue;
    const end = endOfTag(html, NAME.lastIndex);
    if (end === undefined) return undefined;
    const next = !isEnd && RAW.has(name) ? endOfRaw(html, name, end) : end;
    const kind = isEnd ? 'end' : html[end - 2] === '/' ? 'self-closing' : 'start';
    return { name, kind, start, end, next };
  }
  return undefined;
}

/** Behind the `>` that ends a tag; one inside quotes does not. */
function endOfTag(html: string, from: number): number | undefined {
  let quote = '';
  for (let at = from; at < html.length; at += 1) {
    const character = html[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '>') return at + 1;
    else if ((character === '"' || character === "'") && html[at - 1] === '=') quote = character;
  }
  return undefined;
}

function endOfRaw(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}`, 'giu');
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}
