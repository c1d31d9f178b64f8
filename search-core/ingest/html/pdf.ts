/** What a PDF says: title and text, in the terms of a web page. */
import { getDocumentProxy } from 'unpdf';
import { PAGE_LIMITS } from '../page.js';
import { cleanLine, cleanText, cut, cutAtWord } from '../text.js';
import type { ExtractedPage } from './extract.js';

/** Sheets that are read; what stands behind them is for people. */
const SHEETS_MAX = 300;
const TITLE_LENGTH = 200;
/** A gap of so many line heights begins a paragraph. */
const PARAGRAPH_GAP = 1.6;

/** A piece of text on a sheet, as pdf.js gives it. */
interface Piece {
  readonly str: string;
  readonly hasEOL: boolean;
  readonly height: number;
  /** A matrix; the last number is the distance from the lower edge. */
  readonly transform: readonly number[];
}

/** What is used of pdf.js: its own types need the browser's type library. */
interface PdfDocument {
  readonly numPages: number;
  getPage(number: number): Promise<{
    getTextContent(): Promise<{ readonly items: readonly object[] }>;
    cleanup(): void;
  }>;
  getMetadata(): Promise<{ readonly info: object }>;
}

const openDocument = getDocumentProxy as unknown as (
  bytes: Uint8Array,
  options: { readonly verbosity: number; readonly isEvalSupported: boolean },
) => Promise<PdfDocument>;

/**
 * Reads a PDF. Not bounded in time: call it where it can be stopped.
 * @throws whatever the library throws on damaged or encrypted files
 */
export async function extractPdf(bytes: Uint8Array): Promise<ExtractedPage> {
  const document = await openDocument(bytes, { verbosity: 0, isEvalSupported: false });
  const parts: string[] = [];
  let length = 0;
  for (let number = 1; number <= Math.min(document.numPages, SHEETS_MAX); number += 1) {
    const sheet = await document.getPage(number);
    const { items } = await sheet.getTextContent();
    const text = textOf(items.filter((item): item is Piece => 'str' in item));
    parts.push(text);
    length += text.length;
    sheet.cleanup();
    if (length > PAGE_LIMITS.text) break;
  }
  const text = cut(cleanText(parts.join('\n\n')), PAGE_LIMITS.text);
  const [firstLine = ''] = text.split('\n', 1);
  const { info } = await document.getMetadata();
  const named = cleanLine(String(Reflect.get(info, 'Title') ?? ''));
  return {
    // Word processors leave the name of a file there.
    title: cutAtWord(/^$|^untitled|\.\w{2,4}$/iu.test(named) ? firstLine : named, TITLE_LENGTH),
    text,
    canonical: undefined,
    isNoIndex: false,
    isNoFollow: false,
    links: [],
  };
}

/** Lines that stand close together are one paragraph; a word that was cut at a line's end is whole. */
function textOf(pieces: readonly Piece[]): string {
  let text = '';
  let line = '';
  let lastY: number | undefined;
  let lastHeight = 0;
  const end = (gap: number): void => {
    const bare = line.trim();
    line = '';
    if (bare === '') return;
    if (gap > PARAGRAPH_GAP * lastHeight) text += `\n\n${bare}`;
    else if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(bare)) text = text.slice(0, -1) + bare;
    else text += text === '' ? bare : ` ${bare}`;
  };
  let gap = 0;
  for (const { str, hasEOL, height, transform } of pieces) {
    if (line === '' && str.trim() !== '') {
      const y = transform[5] ?? 0;
      gap = lastY === undefined ? 0 : Math.abs(lastY - y);
      lastY = y;
      if (height > 0) lastHeight = height;
    }
    line += str;
    if (hasEOL) end(gap);
  }
  end(gap);
  return text;
}
