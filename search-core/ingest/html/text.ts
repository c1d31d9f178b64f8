/** The text of a piece of HTML as a reader sees it: blocks become paragraphs, tags vanish. */
import { cleanText } from '../text.js';
import type { TextNode } from './dom.js';

const ELEMENT = 1;
const TEXT = 3;
const UNSEEN = new Set(
  'SCRIPT STYLE NOSCRIPT TEMPLATE SVG CANVAS IFRAME OBJECT SELECT BUTTON HEAD TITLE NAV DIALOG'.split(
    ' ',
  ),
);
const PARAGRAPH = new Set(
  (
    'P DIV SECTION ARTICLE MAIN HEADER FOOTER ASIDE BLOCKQUOTE PRE UL OL DL TABLE FIGURE ' +
    'FIGCAPTION H1 H2 H3 H4 H5 H6 HR DETAILS SUMMARY ADDRESS FORM FIELDSET BODY'
  ).split(' '),
);
const LINE = new Set('LI DT DD TR BR CAPTION THEAD TBODY OPTION'.split(' '));
const CELL = new Set(['TD', 'TH']);

/** Reads a tree of any depth without recursion. */
export function textOf(root: TextNode): string {
  const parts: string[] = [];
  type Step = TextNode | string;
  const steps: Step[] = [root];
  let preDepth = 0;
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    if (typeof step === 'string') {
      if (step === PRE_END) preDepth -= 1;
      else parts.push(step);
      continue;
    }
    if (step.nodeType === TEXT) {
      const value = step.nodeValue ?? '';
      parts.push(preDepth > 0 ? value : value.replace(/\s+/gu, ' '));
      continue;
    }
    const name = step.nodeName.toUpperCase();
    if (step.nodeType === ELEMENT && UNSEEN.has(name)) continue;
    const edge = edgeOf(name);
    if (edge !== '') parts.push(edge);
    if (name === 'PRE') {
      preDepth += 1;
      steps.push(edge, PRE_END);
    } else if (PARAGRAPH.has(name)) steps.push(edge);
    const children = [...step.childNodes];
    for (let at = children.length - 1; at >= 0; at -= 1) {
      const child = children[at];
      if (child) steps.push(child);
    }
  }
  return cleanText(parts.join(''));
}

const PRE_END = '\u0000';

function edgeOf(name: string): string {
  if (PARAGRAPH.has(name)) return '\n\n';
  if (LINE.has(name)) return '\n';
  return CELL.has(name) ? '  ' : '';
}
