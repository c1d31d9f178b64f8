import { html, type Html } from '../html.js';

/**
 * A link that opens a form in a dialog. The form has a page of its own, so that it works without a
 * script and can be linked to; `dialog` in the page's script shows that page's form in place.
 */
export function dialogLink(
  href: string,
  label: Html | string,
  kind: 'main' | 'plain' | 'quiet' | 'danger' = 'plain',
): Html {
  const classes = { main: 'button main', plain: 'button', quiet: 'quiet', danger: 'quiet danger' };
  return html`<a class="${classes[kind]}" href="${href}" data-dialog>${label}</a>`;
}

/** The form of such a page: what is asked, and how one gets out of it. */
export function dialogForm(form: {
  readonly action: string;
  readonly body: Html;
  /** Says what happens: `Revoke key`. */
  readonly does: string;
  readonly isDanger?: boolean;
  /** Where Cancel leads to without a script. */
  readonly back: string;
}): Html {
  return html`<form method="post" action="${form.action}" class="ask">
    ${form.body}
    <p class="buttons">
      <button class="main${form.isDanger ? ' danger' : ''}">${form.does}</button>
      <a class="button" href="${form.back}" data-close>Cancel</a>
    </p>
  </form>`;
}

/** What stands where there is nothing yet, with the next step. */
export function emptyState(text: Html | string, next?: Html): Html {
  return html`<div class="empty-state">
    <p>${text}</p>
    ${next && html`<p>${next}</p>`}
  </div>`;
}

/** A choice from a list. */
export function select(input: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly value?: string;
}): Html {
  const { name, label, options, value } = input;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      ${options.map(
        ([one, text]) =>
          html`<option value="${one}" ${one === value ? html`selected` : ''}>${text}</option>`,
      )}
    </select>
  </div>`;
}

/** Text to copy, with a button for it. `id` is unique on its page. */
export function copyBlock(id: string, what: string, text: string): Html {
  return html`<div class="copyable">
    <pre id="${id}" tabindex="0" role="region" aria-label="${what}">${text}</pre>
    <button type="button" class="quiet" data-copy="${id}">
      Copy<span class="hidden"> ${what}</span>
    </button>
  </div>`;
}
