/**
 * Markdown (CommonMark with GitHub's extensions) to the text that a reader sees: no badges,
 * images, link targets, HTML or marks. Lists, tables and code stay as lines.
 */
import { decodeHTML } from 'entities';
import { lexer, type Token, type Tokens } from 'marked';
import { cleanLine, cleanText } from './text.js';

/** The text, and the first heading where there is one. */
export interface MarkdownText {
  readonly heading: string | undefined;
  readonly text: string;
}

/** Converts one Markdown document. */
export function markdownText(markdown: string): MarkdownText {
  const tokens = lexer(withoutUnseen(markdown.replace(/\r\n?/gu, '\n')));
  const heading = tokens.find((token) => token.type === 'heading');
  const title = heading ? cleanLine(inline(children(heading))) : '';
  return {
    heading: title === '' ? undefined : title,
    text: cleanText(tokens.map(block).join('')),
  };
}

const CONTENTS_HEADING = /^(?:table of )?contents:?$/iu;

function children(token: Token): readonly Token[] | undefined {
  return 'tokens' in token ? token.tokens : undefined;
}

/** Front matter, comments, and the HTML blocks whose content no reader sees. */
function withoutUnseen(source: string): string {
  return source
    .replace(/^---\n[\s\S]*?\n---\n/u, '')
    .replace(/<!--[\s\S]*?-->/gu, '')
    .replace(/<(script|style|svg)\b[^>]*>[\s\S]*?<\/\1>/giu, '');
}

function block(token: Token): string {
  switch (token.type) {
    case 'code':
      return `${(token as Tokens.Code).text}\n\n`;
    case 'heading':
    case 'paragraph':
      return paragraph(inline(children(token)));
    case 'text':
      return `${prose(inlineOne(token))}\n`;
    case 'blockquote':
      return (children(token) ?? []).map(block).join('');
    case 'list':
      return `${list(token as Tokens.List)}\n`;
    case 'table':
      return `${table(token as Tokens.Table)}\n`;
    case 'html':
      return paragraph(withoutTags(token.raw));
    default:
      // space, hr, def: nothing that a reader sees.
      return '';
  }
}

function paragraph(text: string): string {
  const kept = prose(text);
  return kept === '' || CONTENTS_HEADING.test(kept) ? '' : `${kept}\n\n`;
}

/** Lines that hold a word or a number: what badges and images leave behind does not. */
function prose(text: string): string {
  const alert = text.replace(/^\[!(\w+)\]/u, '$1');
  return alert
    .split('\n')
    .filter((line) => /[\p{L}\p{N}]/u.test(line))
    .join('\n');
}

/** Items as lines, with their bullets or numbers. */
function list({ items, ordered, start }: Tokens.List): string {
  const first = start === '' ? 1 : start;
  return items.map((item, i) => listItem(item, ordered ? `${first + i}.` : '-')).join('');
}

function listItem(item: Tokens.ListItem, bullet: string): string {
  const nested = item.tokens.filter((token) => token.type === 'list');
  const own = item.tokens.filter((token) => token.type !== 'list');
  const text = own.every(isContentsEntry) ? '' : own.map(block).join('').trim();
  return (text === '' ? '' : `${bullet} ${text}\n`) + nested.map(block).join('');
}

/** An entry of a table of contents: nothing but a link into the page itself. */
function isContentsEntry(token: Token): boolean {
  if (token.type === 'space') return true;
  const inner = (children(token) ?? []).filter((child) => child.raw.trim() !== '');
  const link = inner[0];
  return inner.length === 1 && link?.type === 'link' && (link as Tokens.Link).href.startsWith('#');
}

function table({ header, rows }: Tokens.Table): string {
  const line = (cells: readonly Tokens.TableCell[]): string =>
    cells
      .map((cell) => cleanLine(inline(cell.tokens)))
      .filter((cell) => cell !== '')
      .join(' | ');
  return `${prose([header, ...rows].map(line).join('\n'))}\n`;
}

/** The words of inline tokens; an address that stands for itself is no word. */
function inline(tokens: readonly Token[] | undefined): string {
  return (tokens ?? []).map(inlineOne).join('');
}

function inlineOne(token: Token): string {
  switch (token.type) {
    case 'image':
    case 'html':
      return /^<(?:br|p|\/p|div|\/div)\b/iu.test(token.raw) ? '\n' : ' ';
    case 'br':
      return '\n';
    case 'codespan':
      return (token as Tokens.Codespan).text;
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'text':
      // A line break in the source is a space to the reader.
      return children(token)
        ? inline(children(token))
        : decodeHTML(footnotesGone(token.raw).replaceAll('\n', ' '));
    default:
      return inline(children(token));
  }
}

function footnotesGone(text: string): string {
  return text.replace(/\[\^[^\]\s]{1,50}\]:?/gu, '');
}

/** The words between the tags of an HTML block; its entities decoded. */
function withoutTags(html: string): string {
  return decodeHTML(
    html
      .replace(/<\/?(?:p|div|br|h\d|li|tr|table|ul|ol)\b[^<>]*>/giu, '\n')
      .replace(/<[^<>]*>/gu, ' '),
  );
}
