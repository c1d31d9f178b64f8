import type { Router } from 'express';
import { pagePolicy, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { checkPanel } from './connect-check.js';
import { clientSetups, stdioSetup } from './connect-clients.js';

/** Ready-made setups of the common clients of the tool protocol, and a check of each way in. */
export function connectPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { mcp, publicUrl } = parts;
  const origins = new Set([mcp.keyed, mcp.open, publicUrl].map((url) => new URL(url).origin));
  router.get(
    '/connect',
    guard.signedIn((viewer, _request, response) => {
      response.setHeader('Content-Security-Policy', pagePolicy([...origins]));
      sendPage(response, {
        title: 'Connect',
        viewer,
        path: '/console/connect',
        scripts: ['connect-check.js'],
        body: html`<p>
            MCP clients get one tool, <code>search</code>. Each search costs one credit. See the
            clients you connected under <a href="/console/applications">Applications</a>.
          </p>
          <h2>Sign in from the client</h2>
          <p>Paste this address. The client opens a browser, where you choose the account.</p>
          ${snippet('address', 'address for accounts', mcp.keyed)}
          ${clientSetups(mcp.keyed).map(({ id, name, place, signIn }) =>
            setup(id, name, place, signIn),
          )}
          <h2>With a key</h2>
          <p>
            For clients without a browser. <a href="/console/keys">Create a key</a> and paste it in.
          </p>
          ${clientSetups(mcp.keyed).map(({ id, name, place, withKey }) =>
            setup(`${id}-key`, name, place, withKey),
          )}
          ${setup(
            'stdio',
            'Claude Desktop and other stdio clients',
            'the client’s MCP config file',
            stdioSetup(publicUrl),
          )}
          <h2>Without an account</h2>
          <p>Clients with a wallet pay for each call at this address. No sign-in needed:</p>
          ${snippet('open', 'address for payments', mcp.open)} ${checkPanel(parts)}`,
      });
      return Promise.resolve();
    }),
  );
}

/** The setup of one client, folded until it is wanted. */
function setup(id: string, name: string, place: string, text: string): Html {
  return html`<details class="setup">
    <summary>${name}</summary>
    <p class="hint">${place}</p>
    ${snippet(id, `setup of ${name}`, text)}
  </details>`;
}

function snippet(id: string, what: string, text: string): Html {
  return html`<pre id="connect-${id}" tabindex="0" aria-label="The ${what}">${text}</pre>
    <p>
      <button type="button" class="quiet" data-copy="connect-${id}">
        Copy<span class="hidden"> the ${what}</span>
      </button>
    </p>`;
}
