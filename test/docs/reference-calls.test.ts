import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { addressOf, LANGUAGES, type Call } from '../../console/reference-calls.js';

const nasty = [`it's`, '$(touch /tmp/x)', '`id`', '"quoted"', '\\', '; exit 1', '${x}', '日本'];
const word = fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'grapheme', maxLength: 12 }));
const text = fc
  .array(word, { minLength: 1, maxLength: 4 })
  .map((words) => words.join(' ').replaceAll('\0', ''));

const base = { origin: 'https://search.example', query: {}, headers: {} };
const search = (query: string, more: Partial<Call> = {}): Call => ({
  ...base,
  method: 'POST',
  path: '/search',
  body: { query, maxResults: 3 },
  hasKey: true,
  ...more,
});

/** The arguments that a shell would hand to curl. */
function argumentsInShell(command: string): string[] {
  const script = `curl() { for one; do printf '%s\\0' "$one"; done; }\n${command}`;
  const env = { ...process.env, SEARCH402_API_KEY: 'KEY' };
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1);
}

test('whatever was typed, the shell sends exactly that and runs nothing else', () => {
  fc.assert(
    fc.property(text, (query) => {
      const call = search(query, { query: { by: query } });
      expect(argumentsInShell(LANGUAGES.curl(call))).toEqual([
        addressOf(call),
        ...['-H', 'Authorization: Bearer KEY', '-H', 'Content-Type: application/json'],
        ...['-d', JSON.stringify(call.body)],
      ]);
    }),
    { numRuns: 40 },
  );
});

test('whatever was typed, the TypeScript by hand sends exactly that', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const headers = { 'PAYMENT-SIGNATURE': value };
      const code = LANGUAGES.TypeScript(search(value, { headers }));
      const sent: unknown[] = [];
      const fetched = (...args: unknown[]) => {
        sent.push(...args);
        return Promise.resolve(new Response(''));
      };
      const process = { env: { SEARCH402_API_KEY: 'KEY' } };
      const console = { log: () => undefined };
      await runInNewContext(`(async () => {${code}})()`, { fetch: fetched, process, console });
      const json = { 'Content-Type': 'application/json' };
      const all = { Authorization: 'Bearer KEY', ...headers, ...json };
      const body = JSON.stringify({ query: value, maxResults: 3 });
      const init = { method: 'POST', headers: all, body };
      expect(sent).toEqual(['https://search.example/search', init]);
    }),
    { numRuns: 100 },
  );
});

test('a search is written with the packages, paid from a wallet where there is no key', () => {
  expect(LANGUAGES.TypeScript(search('a b'))).toBe(
    [
      `import { Search402 } from 'search402';`,
      '',
      'const client = new Search402({',
      '  baseUrl: "https://search.example",',
      '  apiKey: process.env.SEARCH402_API_KEY,',
      '});',
      'const { result } = await client.search({"query":"a b","maxResults":3});',
    ].join('\n'),
  );
  expect(LANGUAGES.Python(search('a b', { hasKey: false }))).toBe(
    [
      'import os',
      '',
      'from search402 import PrivateKeySigner, Search402',
      '',
      'client = Search402(',
      '    base_url="https://search.example",',
      '    wallet=PrivateKeySigner(os.environ["SEARCH402_PRIVATE_KEY"]),',
      ')',
      'found = client.search("a b", max_results=3)',
    ].join('\n'),
  );
});

test('what needs no key asks for none', () => {
  const call: Call = { ...base, method: 'GET', path: '/livez', hasKey: false };
  expect(LANGUAGES.curl(call)).toBe(`curl 'https://search.example/livez'`);
  expect(LANGUAGES.Python(call)).not.toContain('environ');
});
