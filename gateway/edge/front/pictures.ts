/** How a paid search goes, in three pictures: one line for each side, one arrow for each message. */
import { html, type Html } from '../console/html.js';
import type { FrontFacts } from './facts.js';

interface Picture {
  /** The large figure over it. */
  readonly sign: string;
  readonly title: string;
  readonly text: string;
  readonly drawing: Html;
}

/** Two sides with what goes between them, 240 by 96; the captions say the same in words. */
function exchange(rows: readonly Html[]): Html {
  return html`<svg viewBox="0 0 240 96" aria-hidden="true" focusable="false">
    <text x="0" y="12">you</text>
    <text x="240" y="12" text-anchor="end">gateway</text>
    <path class="life" d="M.5 20V94M239.5 20V94" />
    ${rows}
  </svg>`;
}

function arrow(y: number, to: 'right' | 'left', label: string, kind = ''): Html {
  const line = to === 'right' ? `M4 ${y}H234` : `M236 ${y}H6`;
  const head = to === 'right' ? `M229 ${y - 4}l6 4-6 4` : `M11 ${y - 4}l-6 4 6 4`;
  return html`<path class="arrow ${kind}" d="${line}${head}" />
    <text class="${kind}" x="120" y="${y - 6}" text-anchor="middle">${label}</text>`;
}

function pictures({ priceUsd }: FrontFacts): readonly Picture[] {
  return [
    {
      sign: '402',
      title: 'You ask, you get a quote',
      text: `The first reply names the price, $${priceUsd} in USDC, and who is paid. Nothing has been charged.`,
      drawing: exchange([
        arrow(46, 'right', 'POST /search'),
        arrow(80, 'left', `402 · $${priceUsd}`, 'ask'),
      ]),
    },
    {
      sign: 'sign',
      title: 'Your wallet signs exactly that',
      text: 'One signature, for this amount, valid for minutes. No account, no gas, no allowance that stays.',
      drawing: html`<svg viewBox="0 0 240 96" aria-hidden="true" focusable="false">
        <path class="slip" d="M.5 4.5h239v89H.5z" />
        <text x="14" y="26">pay</text>
        <text x="226" y="26" text-anchor="end">${priceUsd} USDC</text>
        <text x="14" y="44">valid</text>
        <text x="226" y="44" text-anchor="end">5 minutes</text>
        <path class="life" d="M14 54.5h212" />
        <path
          class="pen"
          d="M20 78c10-18 14-14 12-4s8 2 14-6 8-4 8 2 10 2 18-6 10 8 22 2 20-6 44-2"
        />
      </svg>`,
    },
    {
      sign: '200',
      title: 'Results, with a receipt',
      text: 'The search runs first and the money moves after it. A search that fails costs nothing.',
      drawing: exchange([
        arrow(46, 'right', 'POST /search + signature'),
        arrow(80, 'left', '200 · results · receipt', 'good'),
      ]),
    },
  ];
}

export function picturesPart(facts: FrontFacts): Html {
  return html`<ol class="pictures">
    ${pictures(facts).map(
      ({ sign, title, text, drawing }) =>
        html`<li>
          <p class="sign" aria-hidden="true">${sign}</p>
          ${drawing}
          <h3>${title}</h3>
          <p>${text}</p>
        </li>`,
    )}
  </ol>`;
}
