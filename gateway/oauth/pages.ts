/** Text as it may stand in HTML, in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

const STYLE = `
  :root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5 }
  body { margin: 0; display: grid; min-height: 100vh; place-items: center; padding: 1rem;
    box-sizing: border-box }
  main { max-width: 28rem; width: 100%; border: 1px solid color-mix(in srgb, currentColor 20%,
    transparent); border-radius: .75rem; padding: 1.5rem; box-sizing: border-box }
  h1 { font-size: 1.25rem; margin: 0 0 1rem }
  fieldset { border: 0; padding: 0; margin: 1rem 0 }
  label { display: block; padding: .25rem 0 }
  button { font: inherit; padding: .5rem 1rem; border-radius: .5rem; cursor: pointer;
    border: 1px solid currentColor; background: none; color: inherit }
  button[value=allow] { background: #0b57d0; border-color: #0b57d0; color: #fff }
  code { overflow-wrap: anywhere }
  .buttons { display: flex; gap: .75rem; justify-content: flex-end; margin-top: 1.5rem }
`;

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)} · search402</title>
<style>${STYLE}</style>
</head>
<body><main>
<h1>${escapeHtml(title)}</h1>
${content}
</main></body>
</html>
`;
}

export interface ConsentView {
  readonly clientName: string;
  /** Where the client's description was read; undefined when it only claims its name. */
  readonly verifiedHost: string | undefined;
  /** Where the person is sent afterwards. */
  readonly redirectHost: string;
  readonly person: { readonly name: string; readonly email: string };
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
}

/** Asks a signed-in person whether an application may search on an account. */
export function consentPage(view: ConsentView): string {
  const accounts = view.accounts.map(
    ({ id, name }, index) =>
      `<label><input type="radio" name="account" value="${escapeHtml(id)}"` +
      `${index === 0 ? ' checked' : ''}> ${escapeHtml(name)}</label>`,
  );
  const origin = view.verifiedHost
    ? `It is described at <code>${escapeHtml(view.verifiedHost)}</code>.`
    : 'It chose this name by itself; nobody has checked it.';
  return page(
    `Connect ${view.clientName}?`,
    `<p><strong>${escapeHtml(view.clientName)}</strong> wants to search the web with your account.
${origin} You will be sent to <code>${escapeHtml(view.redirectHost)}</code>.</p>
<p>It may send searches, and each one costs a credit of the account. It cannot see or change
anything else. You are signed in as ${escapeHtml(view.person.email)}.</p>
<form method="post">
<fieldset><legend>Account to be charged</legend>${accounts.join('\n')}</fieldset>
<div class="buttons">
<button name="decision" value="deny">Do not connect</button>
<button name="decision" value="allow">Connect</button>
</div>
</form>`,
  );
}

export function errorPage(error: string, description: string | undefined): string {
  return page(
    'This connection did not work',
    `<p>${escapeHtml(description ?? 'The application sent a request that cannot be answered.')}</p>
<p>Go back to the application and connect again. Its error: <code>${escapeHtml(error)}</code></p>`,
  );
}

export function messagePage(title: string, text: string): string {
  return page(title, `<p>${escapeHtml(text)}</p>`);
}
