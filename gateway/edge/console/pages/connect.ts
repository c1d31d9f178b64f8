import type { Router } from 'express';
import { pagePolicy, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { copyBlock } from '../ui/ask.js';
import { checkPanel } from './connect-check.js';
import { clientSetups, stdioSetup, type ClientSetup } from './connect-clients.js';

/** Setups of the common clients of the tool protocol, by one click or to copy, and a check of each way in. */
export function connectPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { mcp, publicUrl } = parts;
  const origins = new Set([mcp.keyed, mcp.open, publicUrl].map((url) => new URL(url).origin));
  router.get(
    '/connect',
    guard.signedIn((viewer, _request, response) => {
      response.setHeader('Content-Security-Policy', pagePolicy([...origins]));
      const setups = clientSetups(mcp.keyed);
      sendPage(response, {
        title: 'Connect',
        viewer,
        path: '/console/connect',
        scripts: ['connect-key.js'],
        body: html`<p>
            MCP clients get one tool, <code>search</code>. Each search costs one credit. See the
            clients you connected under <a href="/console/applications">Applications</a>.
          </p>
          <div class="tabs">
            ${tab('sign-in', 'Sign in from the client', true)} ${tab('key', 'With a key')}
            ${tab('payment', 'Pay for each call')}
            <div>
              <p>The client opens a browser, where you choose the account. No key to copy.</p>
              ${oneClick(setups, 'install')}
              ${copyBlock('connect-address', 'the address for accounts', mcp.keyed)}
              ${setups.map(({ id, name, place, signIn }) => setup(id, name, place, signIn))}
            </div>
            <div>
              <p>
                For clients without a browser. <a href="/console/keys/new">Create a key</a>, then:
              </p>
              <div class="field" id="connect-key" hidden>
                <label for="own-key">Fill in your key below</label>
                <input id="own-key" class="mono" type="password" autocomplete="off" />
                <p class="hint">It stays on this page.</p>
              </div>
              ${oneClick(setups, 'installWithKey')}
              ${setups.map(({ id, name, place, withKey }) =>
                setup(`${id}-key`, name, place, withKey),
              )}
              ${setup(
                'stdio',
                'Claude Desktop and other stdio clients',
                'the client’s MCP config file',
                stdioSetup(publicUrl),
              )}
            </div>
            <div>
              <p>Clients with a wallet pay for each call at this address. No account needed.</p>
              ${copyBlock('connect-open', 'the address for payments', mcp.open)}
            </div>
          </div>
          ${checkPanel(parts)}`,
      });
      return Promise.resolve();
    }),
  );
}

function tab(id: string, label: string, isFirst = false): Html {
  return html`<input type="radio" name="way" id="way-${id}" ${isFirst ? html`checked` : ''} />
    <label for="way-${id}">${label}</label>`;
}

/** Clients that take a server by a link. */
function oneClick(setups: readonly ClientSetup[], way: 'install' | 'installWithKey'): Html {
  return html`<p class="buttons">
    ${setups.map((one) => {
      const href = one[way];
      return (
        href && html`<a class="button main" href="${href}" data-install>Add to ${one.name}</a>`
      );
    })}
  </p>`;
}

/** The setup of one client, folded until it is wanted. */
function setup(id: string, name: string, place: string, text: string): Html {
  return html`<details class="setup">
    <summary>${name}</summary>
    <p class="hint">${place}</p>
    ${copyBlock(`connect-${id}`, `the setup of ${name}`, text)}
  </details>`;
}
