import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { callsOf } from '../../../gateway/edge/console/pages/request-calls.js';

const inspected = (query: string) => ({
  id: 'x',
  at: new Date(0),
  keyName: 'k',
  query,
  maxResults: 10,
  maxDescriptionLength: 3000,
  outcome: 'ok',
  results: 1,
  latencyMs: 1,
  credits: 1,
});

/** What a shell would hand to curl as the body. */
function bodyInShell(command: string): unknown {
  const script = `curl() { for last; do :; done; printf '%s' "$last"; }\n${command}`;
  return JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' }));
}

test('whatever was searched, the copied curl sends exactly that and runs nothing else', () => {
  const nasty = [`it's`, '$(touch /tmp/x)', '`id`', '"quoted"', '\\', '; exit 1', '!!', '日本'];
  const word = fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'grapheme', maxLength: 12 }));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const query = words.join(' ').replaceAll('\0', '');
      const { curl = '', TypeScript = '', Python = '' } = callsOf(inspected(query), 'http://x');
      const body = { query, maxResults: 10, maxDescriptionLength: 3000 };
      expect(bodyInShell(curl)).toEqual(body);
      expect(TypeScript).toContain(`JSON.stringify(${JSON.stringify(body)})`);
      expect(Python).toContain(`json.dumps(${JSON.stringify(body)})`);
    }),
    { numRuns: 60 },
  );
});
