/**
 * The two libraries that read HTML, behind the few types that are used of them: their own need the
 * browser's type library, which a server has no use for.
 */
import { DefuddleClass } from 'defuddle/node';
import { parseHTML } from 'linkedom';

/** The part of a DOM node that reading text needs. */
export interface TextNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly nodeValue: string | null;
  readonly childNodes: Iterable<TextNode>;
}

export interface PageElement extends TextNode {
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  getAttributeNames(): readonly string[];
  remove(): void;
}

export interface PageDocument {
  readonly title: string;
  readonly body: PageElement;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

/** Parses any text as HTML; never refuses, may overflow the stack on absurd nesting. */
export function parseDocument(html: string): PageDocument {
  return (parseHTML(withBody(html)) as unknown as { document: PageDocument }).document;
}

// Each stops at the next `<`, so that tags without an end do not cost the square of their number.
const HEAD_ELEMENT = /<title\b[^<>]*>[^<]*<\/title\s*>|<(?:meta|link|base)\b[^<>]*>/giu;
const FRAME_TAG = /<!doctype[^<>]*>|<\/?(?:html|head|body)\b[^<>]*>/giu;

/**
 * HTML lets a page leave out the tags of html, head and body (WHATWG HTML 13.1.2.4), and linkedom
 * does not add them: without a body it would find no text at all.
 */
function withBody(html: string): string {
  if (/<body[\s>]/iu.test(html)) return html;
  const head = (html.match(HEAD_ELEMENT) ?? []).join('');
  const body = html.replace(HEAD_ELEMENT, '').replace(FRAME_TAG, '');
  return `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;
}

type ReadMain = new (
  document: PageDocument,
  options: { readonly url: string; readonly useAsync: false },
) => { parse(): { readonly title: string; readonly content: string } };

/** Defuddle's title and main content (HTML). Takes the document apart; makes no requests. */
export function mainContent(
  document: PageDocument,
  url: string,
): { title: string; content: string } {
  const Main = DefuddleClass as unknown as ReadMain;
  return new Main(document, { url, useAsync: false }).parse();
}
