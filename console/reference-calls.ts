/** One request of the reference, as code in three languages. Knows nothing of pages. */

/** What is to be sent. A key is never part of it: code reads it from the environment. */
export interface Call {
  readonly method: string;
  /** Without path: `https://search.example`. */
  readonly origin: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent where the operation takes none. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly hasKey: boolean;
}

export const LANGUAGES = { curl, TypeScript: typeScript, Python: python } as const;

const KEY = 'SEARCH402_API_KEY';

/** The address of a call, its query with it. */
export function addressOf({ origin, path, query }: Call): string {
  const text = new URLSearchParams(query).toString();
  return `${origin}${path}${text === '' ? '' : `?${text}`}`;
}

/** Whether the packages have a method for it; a payment made by hand is sent by hand. */
function isSearch({ path, headers }: Call): boolean {
  return path === '/search' && Object.keys(headers).length === 0;
}

/** In single quotes a shell takes everything but the quote itself as it stands (POSIX, 2.2.2). */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function curl(call: Call): string {
  const { method, headers, body, hasKey } = call;
  return [
    `curl ${quoted(addressOf(call))}`,
    ...(method === 'GET' || body ? [] : [`-X ${method}`]),
    ...(hasKey ? [`-H "Authorization: Bearer $${KEY}"`] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body ? [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`] : []),
  ].join(' \\\n  ');
}

function typeScript(call: Call): string {
  const { method, origin, headers, body, hasKey } = call;
  const key = `process.env.${KEY}`;
  if (isSearch(call)) {
    const wallet = 'privateKeyAccount(process.env.SEARCH402_PRIVATE_KEY)';
    return [
      `import { Search402 } from 'search402';`,
      ...(hasKey ? [] : [`import { privateKeyAccount } from 'search402/node';`]),
      '',
      `const client = new Search402({`,
      `  baseUrl: ${JSON.stringify(origin)},`,
      hasKey ? `  apiKey: ${key},` : `  wallet: ${wallet},`,
      `});`,
      `const { result } = await client.search(${JSON.stringify(body ?? {})});`,
    ].join('\n');
  }
  const sent = [
    ...(hasKey ? [`    Authorization: \`Bearer \${${key}}\`,`] : []),
    ...Object.entries(headers).map(
      ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
    ),
    ...(body ? [`    'Content-Type': 'application/json',`] : []),
  ];
  return [
    `const response = await fetch(${JSON.stringify(addressOf(call))}, {`,
    `  method: ${JSON.stringify(method)},`,
    ...(sent.length > 0 ? ['  headers: {', ...sent, '  },'] : []),
    ...(body ? [`  body: JSON.stringify(${JSON.stringify(body)}),`] : []),
    '});',
    'console.log(response.status, await response.text());',
  ].join('\n');
}

function python(call: Call): string {
  const { method, origin, headers, body, hasKey } = call;
  const key = `os.environ["${KEY}"]`;
  if (isSearch(call)) {
    const wallet = 'PrivateKeySigner(os.environ["SEARCH402_PRIVATE_KEY"])';
    const { query = '', maxResults, maxDescriptionLength } = body ?? {};
    const more = [
      ...(maxResults === undefined ? [] : [`max_results=${JSON.stringify(maxResults)}`]),
      ...(maxDescriptionLength === undefined
        ? []
        : [`max_description_length=${JSON.stringify(maxDescriptionLength)}`]),
    ];
    return [
      'import os',
      '',
      hasKey
        ? 'from search402 import Search402'
        : 'from search402 import PrivateKeySigner, Search402',
      '',
      'client = Search402(',
      `    base_url=${JSON.stringify(origin)},`,
      hasKey ? `    api_key=${key},` : `    wallet=${wallet},`,
      ')',
      `found = client.search(${[JSON.stringify(query), ...more].join(', ')})`,
    ].join('\n');
  }
  const sent = [
    ...(hasKey ? [`        "Authorization": f"Bearer {${key.replaceAll('"', "'")}}",`] : []),
    ...Object.entries(headers).map(
      ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
    ),
  ];
  return [
    ...(hasKey ? ['import os', ''] : []),
    'import httpx',
    '',
    'response = httpx.request(',
    `    ${JSON.stringify(method)},`,
    `    ${JSON.stringify(addressOf(call))},`,
    ...(sent.length > 0 ? ['    headers={', ...sent, '    },'] : []),
    ...(body ? [`    json=${JSON.stringify(body)},`] : []),
    ')',
    'print(response.status_code, response.text)',
  ].join('\n');
}
