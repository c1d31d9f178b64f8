import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { documentedReplies } from './interface-document.js';

/** The part of Jest's settings that says whether everything was run. */
interface Run {
  readonly testPathPatterns: { readonly patterns: readonly string[] };
}

/**
 * After the last test (`jest.config.js`): says how many answers were checked against the document.
 * A run of everything fails when a documented reply was never seen, and names it.
 */
export default function tell({ testPathPatterns }: Run): void {
  const file = process.env.INTERFACE_SEEN_FILE ?? '';
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  rmSync(dirname(file), { recursive: true, force: true });
  const counts = new Map<string, number>();
  for (const line of lines) {
    for (const [name, count] of Object.entries(JSON.parse(line) as Record<string, number>)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const unseen = documentedReplies.filter((name) => !counts.has(name));
  process.stdout.write(
    `▸ ${total} answers were checked against docs/openapi.json; ` +
      `${documentedReplies.length - unseen.length} of ${documentedReplies.length} documented ` +
      `replies were seen\n`,
  );
  if (testPathPatterns.patterns.length > 0) return;
  if (unseen.length === 0) return;
  throw new Error(
    `No test saw these replies of docs/openapi.json: ${unseen.join(', ')}. ` +
      'Write one that provokes them, or take out of the document what cannot happen.',
  );
}
