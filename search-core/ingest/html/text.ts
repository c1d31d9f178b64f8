/**
 * The text of a piece of HTML as a reader sees it: blocks become paragraphs, list items lines with
 * their bullet or number, table rows lines with ` | ` between cells; tags vanish.
 */
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
const LINE = new Set('DT DD TR BR CAPTION THEAD TBODY OPTION'.split(' '));
const CELL = new Set(['TD', 'TH']);
/** Stands before each cell until the row is whole. */
const CELL_START = '\u0001';
/** A bullet whose text is a paragraph of its own. */
const LONE_BULLET = /^(-|\d+\.) *\n\s*/gmu;
/** An item and a blank line, where the next item follows. */
const LOOSE_ITEM = /^((?:-|\d+\.) .*)\n{2,}(?=(?:-|\d+\.) )/gmu;

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
    pushChildren(steps, step, name);
  }
  return cleanText(withBars(parts.join('')))
    .replace(LONE_BULLET, '$1 ')
    .replace(LOOSE_ITEM, '$1\n');
}

/**
 * Text with a bar before each cell but the first of a row. A row begins on a line of its own, a
 * table with a blank line: its own edges and the first row's make at least three line breaks. By
 * pieces, because an expression for white space that leads to a mark looks at long runs again and again.
 */
function withBars(text: string): string {
  const [first = '', ...cells] = text.split(CELL_START);
  const pieces = [first];
  for (const cell of cells) {
    const before = pieces.pop() ?? '';
    const bare = before.trimEnd();
    const breaks = before.slice(bare.length).split('\n').length - 1;
    const edge = breaks >= 3 ? '\n\n' : breaks > 0 || bare === '' ? '\n' : ' | ';
    pieces.push(bare, edge + cell.trimStart());
  }
  return pieces.join('');
}

/** Puts the children of a node on the stack, the first on top; list items under their bullets. */
function pushChildren(steps: (TextNode | string)[], node: TextNode, name: string): void {
  const children = [...node.childNodes];
  const isItem = (child: TextNode): boolean => child.nodeName.toUpperCase() === 'LI';
  let number = name === 'OL' ? children.filter(isItem).length : 0;
  for (let at = children.length - 1; at >= 0; at -= 1) {
    const child = children[at];
    if (!child) continue;
    steps.push(child);
    if (isItem(child)) steps.push(name === 'OL' ? `\n${number--}. ` : '\n- ');
  }
}

const PRE_END = '\u0000';

function edgeOf(name: string): string {
  if (PARAGRAPH.has(name)) return '\n\n';
  if (LINE.has(name)) return '\n';
  return CELL.has(name) ? CELL_START : '';
}
