import type { Router } from 'express';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';

const KEY = 's402_live_…';

/** Ready-made configurations of the common clients of the tool protocol. */
export function connectPage(router: Router, { mcp }: ConsoleParts, guard: Guard): void {
  router.get(
    '/connect',
    guard.signedIn((viewer, _request, response) => {
      sendPage(response, {
        title: 'Connect',
        viewer,
        path: '/console/connect',
        scripts: ['copy'],
        body: html`<p>
            Programs that speak the Model Context Protocol get one tool, <code>search</code>. A
            search costs a credit of this account.
          </p>
          <h2>Sign in from the program</h2>
          <p>Give it this address. It opens a browser, and you choose the account.</p>
          ${snippet('address', mcp.keyed)}
          ${snippet('claude', `claude mcp add --transport http search402 ${mcp.keyed}`)}
          ${snippet('cursor', json({ mcpServers: { search402: { url: mcp.keyed } } }))}
          <h2>With a key</h2>
          <p>
            For programs without a browser. <a href="/console/keys">Make a key</a> and put it in.
          </p>
          ${snippet(
            'claude-key',
            `claude mcp add --transport http search402 ${mcp.keyed} --header "Authorization: Bearer ${KEY}"`,
          )}
          ${snippet('cursor-key', json({ mcpServers: { search402: withKey(mcp.keyed) } }))}
          ${snippet('vscode', json({ servers: { search402: { type: 'http', ...withKey(mcp.keyed) } } }))}
          <h2>Without an account</h2>
          <p>A program with a wallet pays for each call. The tool is listed openly at</p>
          ${snippet('open', mcp.open)}`,
      });
      return Promise.resolve();
    }),
  );
}

function withKey(url: string): object {
  return { url, headers: { Authorization: `Bearer ${KEY}` } };
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

function snippet(id: string, text: string): Html {
  return html`<pre id="connect-${id}" tabindex="0">${text}</pre>
    <p><button type="button" class="quiet" data-copy="connect-${id}">Copy</button></p>`;
}
