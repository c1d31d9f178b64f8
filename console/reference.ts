/** The reference: sends what a form says to this very server, and shows all that comes back. */
import { addressOf, LANGUAGES, type Call } from './reference-calls.js';

/** Characters of a body that are shown at the most. */
const BODY_SHOWN_MAX = 200_000;
const PAYMENT_HEADERS = ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'] as const;

const key = document.querySelector<HTMLInputElement>('#key');
const typedKey = () => key?.value.trim() ?? '';

for (const form of document.querySelectorAll<HTMLFormElement>('form.try')) {
  const refresh = () => showCalls(form);
  form.addEventListener('input', refresh);
  key?.addEventListener('input', refresh);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
  for (const button of form.querySelectorAll('button.copy')) {
    button.addEventListener('click', () => {
      const text = button.previousElementSibling?.textContent ?? '';
      void navigator.clipboard.writeText(text).then(() => button.replaceChildren('Copied'));
    });
  }
  refresh();
}

/** What the form says. An empty field is not sent. */
function callOf(form: HTMLFormElement): Call {
  const { method = 'GET', path = '/', key: takesKey } = form.dataset;
  const places: Record<string, Record<string, unknown>> = { query: {}, header: {}, body: {} };
  for (const field of form.querySelectorAll<HTMLInputElement>('[data-in]')) {
    const { in: place = '', name = '', type } = field.dataset;
    const members = places[place];
    if (members && field.value !== '') {
      members[name] = type === 'number' ? Number(field.value) : field.value;
    }
  }
  const hasBody = form.querySelector('[data-in=body]') !== null;
  return {
    ...{ method, path, origin: location.origin },
    query: places.query as Record<string, string>,
    headers: places.header as Record<string, string>,
    ...(hasBody && { body: places.body }),
    hasKey: takesKey === 'yes' && typedKey() !== '',
  };
}

function showCalls(form: HTMLFormElement): void {
  const call = callOf(form);
  for (const [language, write] of Object.entries(LANGUAGES)) {
    const place = form.querySelector(`.call[data-language="${language}"]`);
    place?.replaceChildren(write(call));
  }
}

async function send(form: HTMLFormElement): Promise<void> {
  const state = form.querySelector('.state');
  const button = form.querySelector<HTMLButtonElement>('button.main');
  const reply = form.querySelector<HTMLElement>('.reply');
  if (!state || !button || !reply) return;
  button.disabled = true;
  state.replaceChildren('Waiting for the response …');
  try {
    const startedMs = performance.now();
    const response = await request(callOf(form));
    const text = await response.text();
    const tookMs = Math.round(performance.now() - startedMs);
    show(reply, response, text);
    state.replaceChildren(`${response.status} ${response.statusText} in ${tookMs} ms`);
  } catch {
    reply.hidden = true;
    state.replaceChildren('No response. The server can’t be reached, or a header isn’t valid.');
  } finally {
    button.disabled = false;
  }
}

function request(call: Call): Promise<Response> {
  const { method, headers, body, hasKey } = call;
  return fetch(addressOf(call), {
    method,
    headers: {
      ...headers,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(hasKey && { Authorization: `Bearer ${typedKey()}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // Nothing but what the form shows goes along, and nothing is kept.
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
  });
}

function show(reply: HTMLElement, response: Response, text: string): void {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  reply.querySelector('.headers')?.replaceChildren(lines.join('\n'));
  reply.querySelector('.body')?.replaceChildren(pretty(text).slice(0, BODY_SHOWN_MAX));
  const payments = PAYMENT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : showDecoded(name, value);
  });
  reply.querySelector('.decoded')?.replaceChildren(...payments);
  reply.hidden = false;
}

/** A payment header in words, as far as it is a quote, and as what it is: base64 of JSON. */
function showDecoded(name: string, value: string): HTMLElement[] {
  const text = decoded(value);
  const title = element('h4', `${name}, decoded`);
  const json = element('pre', pretty(text));
  json.tabIndex = 0;
  const words = quoteOf(text);
  return words === undefined ? [title, json] : [title, element('p', words), json];
}

/** The text of base64 of UTF-8; anything else as it is. */
function decoded(value: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(value), (sign) => sign.charCodeAt(0)));
  } catch {
    return value;
  }
}

interface Quote {
  readonly accepts?: readonly {
    readonly amount: string;
    readonly network: string;
    readonly payTo: string;
    readonly maxTimeoutSeconds: number;
  }[];
}

/** Atomic units of USDC in one dollar. */
const UNITS_PER_USD = 1_000_000n;

function quoteOf(text: string): string | undefined {
  const asked = (parsed(text) as Quote | undefined)?.accepts?.[0];
  if (!asked) return undefined;
  const units = BigInt(asked.amount);
  const cents = String(units % UNITS_PER_USD)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const usd = `${units / UNITS_PER_USD}${cents === '' ? '' : `.${cents}`}`;
  return (
    `The price is ${usd} USD (${units} atomic USDC) on ${asked.network}, paid to ${asked.payTo}. ` +
    `A signed payment is valid for ${asked.maxTimeoutSeconds} seconds.`
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pretty(text: string): string {
  const value = parsed(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
