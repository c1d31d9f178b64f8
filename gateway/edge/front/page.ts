import { assetPath } from '../console/assets.js';
import { html, type Html } from '../console/html.js';
import type { FrontFacts } from './facts.js';
import { foundPart, type Found } from './found.js';
import { picturesPart } from './pictures.js';
import { snippets } from './snippets.js';

/** The page for one visitor. */
export interface FrontView {
  readonly facts: FrontFacts;
  /** Free searches a day, and how many this visitor has left; 0 a day where none are given. */
  readonly free: { readonly perDay: number; readonly left: number };
  readonly query: string;
  readonly found: Found | undefined;
  readonly now: Date;
}

const TITLE = 'search402: web search by keyword, paid per search';

/** The front page as text; works without a script. */
export function frontPage(view: FrontView): string {
  const { facts } = view;
  const about = `Keyword web search for agents and people. $${facts.priceUsd} a search over x402, without an account.`;
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="${about}" />
        <title>${view.query === '' ? TITLE : `${view.query} · search402`}</title>
        <link
          rel="preload"
          href="${assetPath('geist.woff2')}"
          as="font"
          type="font/woff2"
          crossorigin
        />
        <link rel="stylesheet" href="${assetPath('front.css')}" />
        <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />
        <link rel="alternate" href="/llms.txt" type="text/markdown" />
        <script type="module" src="${assetPath('front.js')}"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <a class="mark" href="/" aria-label="search402, home">search<b>402</b></a>
          <nav aria-label="Site">
            <a href="/docs">Docs</a>
            <a href="#use">MCP</a>
            <a href="/console">Console</a>
          </nav>
        </header>
        <main id="main" tabindex="-1">
          <h1>Search the web by keyword. <span>Pay per search.</span></h1>
          ${searchPart(view)} ${foundPart(view.found)}
          <section aria-labelledby="how">
            <h2 id="how">How a search is paid</h2>
            ${picturesPart(facts)}
          </section>
          <section aria-labelledby="use">
            <h2 id="use">Use it from your code</h2>
            ${tabs(facts)}
          </section>
          <section aria-labelledby="state">
            <h2 id="state">Right now</h2>
            ${stateOf(view)}
          </section>
        </main>
        <footer>
          <a href="/docs">Documentation</a>
          <a href="/openapi.json">OpenAPI</a>
          <a href="/llms.txt">llms.txt</a>
          <a href="/console/sign-up">Create an account</a>
        </footer>
      </body>
    </html>`;
  return text.text;
}

function searchPart({ facts, free, query }: FrontView): Html {
  const terms = html`<p class="terms">
    <b>$${facts.priceUsd}</b> a search · <b>1,000</b> free credits with an account · no account
    needed
  </p>`;
  if (free.perDay === 0) return terms;
  return html`<form action="/" method="get" role="search">
      <label for="q">Keywords</label>
      <input
        id="q"
        name="q"
        type="search"
        value="${query}"
        placeholder="postgres jsonb index"
        maxlength="200"
        autocomplete="off"
        autocapitalize="off"
        spellcheck="false"
        required
      />
      <button>Search</button>
      <p id="left">${leftText(free)}</p>
      <button type="submit" id="pay" name="by" value="wallet" hidden>
        Pay $${facts.priceUsd} with your wallet
      </button>
    </form>
    <p id="paid" class="said" role="status" hidden></p>
    ${terms}`;
}

function leftText({ perDay, left }: FrontView['free']): Html | string {
  if (left === 0) return 'No free searches left today';
  return html`<b>${left}</b> of ${perDay} free today`;
}

/** Tabs without a script: radio buttons, so that arrow keys move between them. */
function tabs(facts: FrontFacts): Html {
  const all = snippets(facts);
  return html`<div class="tabs">
    <fieldset>
      <legend>Language</legend>
      ${all.map(
        ({ id, name }, index) =>
          html`<input type="radio" name="tab" id="tab-${id}" ${index === 0 ? html`checked` : ''} />
            <label for="tab-${id}">${name}</label>`,
      )}
    </fieldset>
    ${all.map(
      ({ id, name, about, code }) =>
        html`<div class="panel" id="panel-${id}">
          <p>${about}</p>
          <pre tabindex="0" role="region" aria-label="${name}"><code>${code}</code></pre>
          <button type="button" class="copy" hidden data-copy="panel-${id}">
            Copy<span class="hidden"> the ${name} call</span>
          </button>
        </div>`,
    )}
  </div>`;
}

function stateOf({ facts, now }: FrontView): Html {
  const { index } = facts;
  const rows: readonly (readonly [string, Html | string])[] = [
    [
      'Service',
      facts.isReady
        ? html`<span class="up">Up</span>`
        : html`<span class="down">Not ready. Nothing is charged meanwhile.</span>`,
    ],
    ...(index ? [['Index', `${index.pages.toLocaleString('en-US')} pages`] as const] : []),
    ...(index?.changedAt ? [['Updated', age(index.changedAt, now)] as const] : []),
    ['Price', `$${facts.priceUsd} a search, $${perThousand(facts.priceUnits)} per 1,000`],
    ['Paid in', html`USDC on <code>${facts.network}</code>`],
    ['Paid to', html`<code>${facts.payTo}</code>`],
  ];
  return html`<dl>
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Dollars for 1,000 searches, with cents at the least. */
function perThousand(units: string): string {
  const cents = (BigInt(units) * 1000n + 5000n) / 10_000n;
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

const STEPS = [
  { seconds: 86_400, name: 'day' },
  { seconds: 3600, name: 'hour' },
  { seconds: 60, name: 'minute' },
] as const;

/** How long ago, in the largest whole unit. */
function age(then: Date, now: Date): Html {
  const seconds = Math.max(0, (now.getTime() - then.getTime()) / 1000);
  const step = STEPS.find((one) => seconds >= one.seconds);
  const count = step ? Math.floor(seconds / step.seconds) : 0;
  const text = step ? `${count} ${step.name}${count === 1 ? '' : 's'} ago` : 'just now';
  return html`<time datetime="${then.toISOString()}">${text}</time>`;
}
