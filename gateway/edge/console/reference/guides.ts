import { PLANS } from '../../../ground/domain/plan.js';
import { REFUSALS, type RefusalNext } from '../../../ground/domain/refusal.js';
import { html, type Html } from '../html.js';
import { copyBlock } from '../ui/ask.js';
import { dataTable } from '../ui/table.js';
import { errorTexts } from './error-texts.js';
import type { DocPath } from './frame.js';

/** A page of the documentation that is written by hand; `home` is where the gateway is reached. */
interface Guide {
  readonly path: Exclude<DocPath, '/docs/api'>;
  readonly title: string;
  readonly body: Html;
}

export function guides(home: string): readonly Guide[] {
  return [
    { path: '/docs', title: 'Quickstart', body: quickstart(home) },
    { path: '/docs/queries', title: 'Writing queries', body: queries(home) },
    { path: '/docs/paying', title: 'Paying', body: paying(home) },
    { path: '/docs/limits', title: 'Limits', body: limits() },
    { path: '/docs/errors', title: 'Errors', body: errors() },
    { path: '/docs/sdks', title: 'SDKs', body: sdks(home) },
    { path: '/docs/mcp', title: 'MCP', body: mcp(home) },
  ];
}

const QUERY = `{"query": "postgres jsonb index", "maxResults": 5}`;

const quickstart = (home: string): Html =>
  html`<p>
      search402 finds pages by keyword and gives back a long passage of each. You pay for each
      search with credits of an account, or with a signature over a few thousandths of a cent.
    </p>
    <h2 id="with-an-account">With an account</h2>
    <ol>
      <li><a href="${home}/console/sign-up">Sign up.</a> A new account has 1,000 free searches.</li>
      <li><a href="${home}/console/keys/new">Create a key</a> and copy it.</li>
      <li>Search:</li>
    </ol>
    ${copyBlock(
      'keyed-call',
      'a search with a key',
      `curl ${home}/search \\\n  -H "Authorization: Bearer $SEARCH402_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${QUERY}'`,
    )}
    <h2 id="without-an-account">Without an account</h2>
    <p>
      Send the same request without a key. The reply is <code>402</code> with a quote in the header
      <code>PAYMENT-REQUIRED</code>. Any x402 client signs it and sends the request again. See
      <a href="/docs/paying">Paying</a>.
    </p>
    <h2 id="the-reply">The reply</h2>
    ${copyBlock(
      'reply-shape',
      'a reply',
      JSON.stringify(
        {
          requestId: '6f2b1c9e-4b0a-4d35-9a43-0d3f3c3a7f10',
          result: {
            results: [
              {
                title: 'JSON types',
                url: 'https://pages.example/jsonb',
                description: 'A GIN index …',
              },
            ],
            searchMetadata: { executionTime: 0.012 },
            totalResults: 1,
          },
        },
        null,
        2,
      ),
    )}
    <p>
      <code>description</code> is the passage that fits your words best, up to
      <code>maxDescriptionLength</code> characters. It is long enough to answer from.
    </p>`;

const queries = (home: string): Html =>
  html`<p>
      Search is literal. It finds pages that have your words, and ranks those higher where the words
      are rare, stand close together, or are in the title.
    </p>
    <h2 id="rules">Rules</h2>
    ${dataTable({
      caption: 'How queries are read',
      columns: [{ head: 'You write' }, { head: 'It finds' }],
      rows: [
        [html`<code>postgres jsonb index</code>`, 'Pages with these words, in any order'],
        [html`<code>"gin index" postgres</code>`, 'Pages where “gin index” stands as it is'],
        [
          html`<code>Café</code>, <code>cafe</code>`,
          'The same pages: letter case and accents don’t matter',
        ],
        [html`<code>C++</code>`, 'Pages on C++. “c” alone finds pages on either'],
        [html`<code>jsnob</code>`, 'Nothing: spelling is not corrected, and there are no synonyms'],
      ],
      empty: '',
    })}
    <h2 id="advice">Advice</h2>
    <ul>
      <li>Use 2 to 8 words. 50 is the most.</li>
      <li>
        Leave out articles and question words: <code>sign typed data viem</code> instead of
        <code>how do I sign typed data with viem?</code>
      </li>
      <li>Use the words that a page about it would use, not those of your question.</li>
      <li>
        Nothing found? Leave out the rarest word first. The
        <a href="${home}/console/playground">playground</a> says which words no passage had.
      </li>
    </ul>
    <h2 id="parameters">Parameters</h2>
    ${dataTable({
      caption: 'Parameters of a search',
      columns: [{ head: 'Name' }, { head: 'Bounds' }, { head: 'Without it' }],
      rows: [
        [html`<code>query</code>`, '1 to 50 words', 'refused'],
        [html`<code>maxResults</code>`, '1 to 20', '10'],
        [html`<code>maxDescriptionLength</code>`, '1,000 to 8,000 characters', '3,000'],
      ],
      empty: '',
    })}`;

const paying = (home: string): Html =>
  html`<p>Four ways, the same search. A search that fails costs nothing, whichever way you pay.</p>
    <h2 id="credits">Credits of an account</h2>
    <p>
      Send <code>Authorization: Bearer s402_live_…</code>. Each search that answers 200 costs one
      credit. Credits don’t expire. Add more under <a href="${home}/console/billing">Billing</a>, or
      with <code>POST ${home}/account/credits</code> and any x402 client.
    </p>
    <h2 id="single">One payment for one search</h2>
    <ol>
      <li>You send <code>POST /search</code> without a key.</li>
      <li>
        The reply is <code>402</code>. Its header <code>PAYMENT-REQUIRED</code> is base64 of JSON:
        the amount, the asset (USDC on Base), and who is paid.
      </li>
      <li>Your wallet signs an EIP-3009 authorization of exactly that. It costs you no gas.</li>
      <li>You send the request again with the header <code>PAYMENT-SIGNATURE</code>.</li>
      <li>
        The reply is <code>200</code> with the results, and <code>PAYMENT-RESPONSE</code> names the
        transaction.
      </li>
    </ol>
    <p>
      After a <code>503</code> send the <b>same</b> payment again. It is charged once, however often
      it arrives.
    </p>
    <h2 id="packs">Packs</h2>
    <p>
      One payment to <code>POST ${home}/packs</code> buys a key with searches on it, without an
      account. Good for an agent that searches often.
    </p>
    <h2 id="channels">Channels</h2>
    <p>
      Put money into a channel once and sign a voucher for each search. No transaction is needed
      between your request and its reply. What is left comes back through
      <code>GET /channels</code>.
    </p>`;

const limits = (): Html =>
  html`<h2 id="rates">Searches a second</h2>
    ${dataTable({
      caption: 'Searches a second by plan',
      columns: [{ head: 'Plan' }, { head: 'Searches a second' }],
      rows: Object.values(PLANS).map(({ name, ratePerSecond }) => [name, ratePerSecond]),
      empty: '',
    })}
    <p>
      The limit is a sliding one-second window for all keys of an account together. A key can have a
      lower limit of its own, and a budget of credits for each month. Requests without a key are
      limited by network address.
    </p>
    <p>
      Each reply has <code>RateLimit-Policy</code> and <code>RateLimit</code>. A
      <code>429</code> has <code>Retry-After</code> in seconds and costs nothing.
    </p>
    <h2 id="sizes">Sizes</h2>
    <p>
      A request’s body is at most 16 KiB. A reply has at most 20 results of 8,000 characters each.
    </p>`;

const NEXT: Readonly<Record<RefusalNext, string>> = {
  'same-payment': 'same payment again',
  'new-payment': 'sign a new payment',
  later: 'again later',
  never: 'change the request',
};

const errors = (): Html =>
  html`<p>
      Every error is JSON with exactly <code>title</code>, <code>status</code>, <code>detail</code>,
      <code>requestId</code> and <code>code</code>. Program against <code>code</code>;
      <code>detail</code> is for people. Give <code>requestId</code> when you ask for help.
    </p>
    ${dataTable({
      caption: 'Errors',
      columns: ['Code', 'Status', 'What happened', 'What to do', 'Retry'].map((head) => ({ head })),
      rows: errorTexts().map(([code, { what, next }]) => [
        html`<code id="${code}">${code}</code>`,
        String(REFUSALS[code].status),
        coded(what),
        coded(next),
        NEXT[REFUSALS[code].next],
      ]),
      empty: '',
    })}`;

/** Words in backticks are code. */
function coded(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

const sdks = (home: string): Html =>
  html`<p>
      Both clients retry what may be retried, pay once at the most, and never sign more than you
      allow. Without them, every HTTP client works.
    </p>
    <h2 id="typescript">TypeScript</h2>
    ${copyBlock(
      'sdk-typescript',
      'a search in TypeScript',
      `import { Search402 } from 'search402';\n\nconst client = new Search402({ baseUrl: '${home}', apiKey: process.env.SEARCH402_API_KEY });\nconst { result } = await client.search({ query: 'postgres jsonb index' });`,
    )}
    <h2 id="python">Python</h2>
    ${copyBlock(
      'sdk-python',
      'a search in Python',
      `import os\nfrom search402 import Search402\n\nclient = Search402(base_url="${home}", api_key=os.environ["SEARCH402_API_KEY"])\nfor page in client.search("postgres jsonb index").result.results:\n    print(page.title, page.url)`,
    )}
    <p>The repository’s <code>sdk/</code> folder has both, with examples and a guide each.</p>`;

const mcp = (home: string): Html =>
  html`<p>
      Agents reach search402 as a tool server with one tool, <code>search</code>. The client signs
      in through your browser, sends a key, or pays for each call.
    </p>
    ${copyBlock('mcp-claude', 'the setup of Claude Code', `claude mcp add --transport http search402 ${home}/mcp`)}
    <p>
      <a href="${home}/console/connect">Connect</a> has setups for Cursor, VS Code, Codex, Gemini
      CLI and Windsurf by one click or to copy, and tests each way in against this very server.
    </p>
    <h2 id="tool">The tool</h2>
    <p>
      <code>search</code> takes <code>query</code>, <code>maxResults</code> and
      <code>maxDescriptionLength</code>, as <code>POST /search</code> does. Its result is text for
      the model, and the same as structured content.
    </p>`;
