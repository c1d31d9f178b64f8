import { html, type Html } from '../html.js';
import type { Input, Operation } from './document.js';

/** The one place for a key. It has no name and stands in no form: it is sent with `fetch` alone. */
export function keyField(): Html {
  return html`<div class="panel">
    <div class="field">
      <label for="key">API key for requests from this page</label>
      <input
        id="key"
        type="password"
        autocomplete="off"
        spellcheck="false"
        aria-describedby="key-hint"
      />
      <p class="hint" id="key-hint">
        Optional. It is kept in the memory of this page alone, and gone when the page is. Without
        one, a search is answered with its price, and you see the quote.
      </p>
    </div>
    <noscript><p class="notice bad">This form needs JavaScript.</p></noscript>
  </div>`;
}

/** Fields for all that an operation takes; `console/reference.ts` sends it and shows the reply. */
export function tryForm(
  method: string,
  path: string,
  { operationId, security }: Operation,
  inputs: readonly Input[],
): Html {
  const takesKey = security === undefined || security.length > 0;
  return html`<form
    class="panel try"
    data-method="${method.toUpperCase()}"
    data-path="${path}"
    data-key="${takesKey ? 'yes' : 'no'}"
    novalidate
    aria-label="Try ${method.toUpperCase()} ${path}"
  >
    <h4>Try it</h4>
    <div class="row">${inputs.map((input) => inputField(operationId, input))}</div>
    <p class="buttons"><button class="main">Send</button></p>
    <p class="state" role="status" aria-live="polite"></p>
    <div class="reply" hidden>
      <h4>Response headers</h4>
      <pre class="headers" tabindex="0"></pre>
      <div class="decoded"></div>
      <h4>The reply’s body</h4>
      <pre class="body" tabindex="0"></pre>
    </div>
    <details>
      <summary>This call as code</summary>
      ${['curl', 'TypeScript', 'Python'].map(
        (language) =>
          html`<h4>${language}</h4>
            <pre class="call" data-language="${language}" tabindex="0"></pre>
            <button type="button" class="quiet copy" aria-label="Copy the call in ${language}">
              Copy
            </button>`,
      )}
    </details>
  </form>`;
}

function inputField(operationId: string, { name, in: place, isRequired, schema }: Input): Html {
  const id = `${operationId}-${name}`;
  const type = schema.type === 'integer' ? 'number' : 'text';
  const marks = html`id="${id}" data-in="${place}" data-name="${name}" data-type="${type}"`;
  const preset = schema.default;
  const box =
    schema.enum === undefined
      ? html`<input
          ${marks}
          type="${type}"
          autocomplete="off"
          value="${schema.examples?.[0]}"
          placeholder="${preset}"
        />`
      : html`<select ${marks}>
          <option value=""></option>
          ${schema.enum.map((value) => html`<option>${value}</option>`)}
        </select>`;
  return html`<div class="field">
    <label for="${id}">${name}${isRequired ? '' : html` <small>optional</small>`}</label>
    ${box}
  </div>`;
}
