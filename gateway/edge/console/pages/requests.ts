import type { Router } from 'express';
import type { InspectedRequest } from '../../../customers/usage/report.js';
import { idOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { facts, field, number, sendPage, table, time } from '../page.js';
import type { ConsoleParts } from '../parts.js';

const PATH = '/console/requests';
const LATEST = 100;

/** The request inspector: the newest searches, and any one by its id. */
export function requestPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { usage } = parts;

  router.get(
    '/requests',
    guard.signedIn(async (viewer, request, response) => {
      const { id } = request.query;
      if (typeof id === 'string' && id.trim() !== '') {
        response.redirect(303, `${PATH}/${encodeURIComponent(id.trim().slice(0, 100))}`);
        return;
      }
      const latest = await usage.latest(viewer.membership.accountId, LATEST);
      sendPage(response, {
        title: 'Requests',
        viewer,
        path: PATH,
        body: html`<form method="get" action="${PATH}" class="panel row">
            ${field({ name: 'id', label: 'Request id', hint: 'X-Request-Id from the response' })}
            <button>Look up</button>
          </form>
          ${table(
            'Latest searches',
            ['Time, UTC', 'Query', 'Outcome', 'Results', 'Took', 'Key'],
            latest.map((one) => [
              html`<a href="${PATH}/${one.id}">${time(one.at)}</a>`,
              one.query === '' ? html`<i>none</i>` : one.query,
              outcomeMark(one.outcome),
              one.results,
              html`${number(one.latencyMs)} ms`,
              one.keyName,
            ]),
            'No searches in the last seven days.',
          )}`,
      });
    }),
  );

  router.get(
    '/requests/:id',
    guard.signedIn(async (viewer, request, response) => {
      const found = await usage.inspect(viewer.membership.accountId, idOf(request));
      if (!found) {
        sayNotFound(viewer, response);
        return;
      }
      sendPage(response, {
        title: 'One request',
        viewer,
        path: PATH,
        scripts: ['copy.js'],
        body: html`${factsOf(found)} ${found.query === '' ? '' : calls(found, parts.publicUrl)}`,
      });
    }),
  );
}

function outcomeMark(outcome: string): Html {
  return html`<span class="outcome ${outcome === 'ok' ? 'good' : 'bad'}">${outcome}</span>`;
}

function factsOf(one: InspectedRequest): Html {
  return facts([
    ['Request id', html`<code>${one.id}</code>`],
    ['Time, UTC', html`<time>${one.at.toISOString()}</time>`],
    ['Key', one.keyName],
    ['Query', one.query === '' ? 'none (invalid request)' : one.query],
    ['Outcome', outcomeMark(one.outcome)],
    ['Results', `${one.results} of ${one.maxResults} results`],
    ['Took', `${number(one.latencyMs)} ms`],
    ['Charge', one.credits === 0 ? 'none' : '1 credit'],
  ]);
}

/** Repeat this search, in three languages; `$SEARCH402_API_KEY` stands for the key. */
export function callsOf(
  one: InspectedRequest,
  publicUrl: string,
): Readonly<Record<string, string>> {
  const { query, maxResults, maxDescriptionLength } = one;
  const body = JSON.stringify({ query, maxResults, maxDescriptionLength });
  const url = `${publicUrl}/search`;
  return {
    curl:
      `curl ${url} \\\n  -H "Authorization: Bearer $SEARCH402_API_KEY" \\\n` +
      `  -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", `'\\''`)}'`,
    TypeScript:
      `const response = await fetch(${JSON.stringify(url)}, {\n  method: 'POST',\n  headers: {\n` +
      '    Authorization: `Bearer ${process.env.SEARCH402_API_KEY}`,\n' +
      `    'Content-Type': 'application/json',\n  },\n  body: JSON.stringify(${body}),\n});\n` +
      'const { result } = await response.json();',
    Python:
      `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    ${JSON.stringify(url)},\n` +
      `    data=json.dumps(${body}).encode(),\n    headers={\n` +
      `        "Authorization": f"Bearer {os.environ['SEARCH402_API_KEY']}",\n` +
      `        "Content-Type": "application/json",\n    },\n)\n` +
      'result = json.load(urllib.request.urlopen(request))["result"]',
  };
}

function calls(one: InspectedRequest, publicUrl: string): Html {
  return html`<h2>Repeat this search</h2>
    ${Object.entries(callsOf(one, publicUrl)).map(
      ([language, text]) =>
        html`<section class="call">
          <h3>${language}</h3>
          <pre id="call-${language}">${text}</pre>
          <button type="button" class="quiet" data-copy="call-${language}">Copy</button>
        </section>`,
    )}`;
}
