import type { PageDocument, PageElement } from './dom.js';

/** What an element's own style says where nobody is meant to see it. */
const HIDING: readonly RegExp[] = [
  /\bdisplay\s*:\s*none\b/u,
  /\bvisibility\s*:\s*(?:hidden|collapse)\b/u,
  /\bcontent-visibility\s*:\s*hidden\b/u,
  /(?:^|[;\s])opacity\s*:\s*0*(?:\.0+)?%?\s*(?:;|!|$)/u,
  /\bcolor\s*:\s*transparent\b/u,
  /\b(?:left|top|right|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{4,}/u,
  /\bclip\s*:\s*rect\(\s*[01](?:px)?[,\s]+[01](?:px)?[,\s]+[01](?:px)?[,\s]+[01](?:px)?\s*\)/u,
  /\bclip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)/u,
  /\btransform\s*:[^;]*\bscale\(\s*0\s*\)/u,
];
/** Hides only together with `overflow: hidden`. */
const NO_SIZE = /(?:^|[;\s])(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|!|$)/u;
const NO_OVERFLOW = /\boverflow\s*:\s*hidden\b/u;

/** The largest size that nobody reads, by unit. */
const FONT_UNREADABLE: Readonly<Record<string, number>> = {
  '': 0,
  px: 2,
  pt: 2,
  em: 0.1,
  rem: 0.1,
  '%': 10,
  vw: 0.1,
  vh: 0.1,
};

/** Elements that are looked at; the rest of a larger page is read as it is. */
const ELEMENTS_MAX = 100_000;

/**
 * Takes elements out that a browser would not show, by their own attributes: `hidden`, and a style
 * that hides. What a style sheet hides is not known here, since style sheets are not read.
 */
export function removeHidden(document: PageDocument): void {
  let looked = 0;
  for (const element of [...document.querySelectorAll('body *')]) {
    looked += 1;
    if (looked > ELEMENTS_MAX) return;
    if (isHidden(element)) element.remove();
  }
}

/** Works on every name that there is: the parser keeps `STYLE` as it was written. */
function isHidden(element: PageElement): boolean {
  return element.getAttributeNames().some((name) => {
    const value = () => element.getAttribute(name)?.toLowerCase() ?? '';
    switch (name.toLowerCase()) {
      case 'hidden':
        // `until-found` is shown when somebody searches the page for it.
        return value() !== 'until-found';
      case 'style':
        return hides(value());
      default:
        return false;
    }
  });
}

function hides(style: string): boolean {
  if (HIDING.some((sign) => sign.test(style)) || isTooSmall(style) || isInkOnInk(style))
    return true;
  return NO_SIZE.test(style) && NO_OVERFLOW.test(style);
}

function isTooSmall(style: string): boolean {
  const [, size, unit = ''] = /\bfont-size\s*:\s*([\d.]+)([a-z%]*)/u.exec(style) ?? [];
  return size !== undefined && Number(size) <= (FONT_UNREADABLE[unit] ?? 0);
}

/** Text in the colour of its own background. */
function isInkOnInk(style: string): boolean {
  const ink = /(?:^|[;\s])color\s*:\s*([^;!]+)/u.exec(style)?.[1]?.trim();
  const ground = /\bbackground(?:-color)?\s*:\s*([^;!]+)/u.exec(style)?.[1]?.trim();
  return ink !== undefined && ink === ground;
}
