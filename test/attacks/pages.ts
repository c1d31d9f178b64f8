import { createExtractPool } from '../../search-core/ingest/html/pool.js';
import type { AttackRow } from './row.js';

const COUNT = 150_000;
/** Of CPU time, which other programs on the machine do not change. The pool ends a thread after ten seconds. */
const SECONDS_MAX = 3;

/** Pages whose parsing could take the square of their length. */
const PAGES: readonly (readonly [name: string, html: string])[] = [
  ['nested <div>', `<body>${'<div>'.repeat(COUNT)}deep${'</div>'.repeat(COUNT)}`],
  ['nested <div> that do not end', `<body>${'<div>'.repeat(COUNT)}deep`],
  ['nested <div title=">">', `<body>${'<div title="<>">'.repeat(COUNT / 2)}deep`],
  ['nested <span> in <p>', `<body>${'<p><span>'.repeat(COUNT / 2)}deep`],
  ['nested <li> in <p>', `<body>${'<p><li>'.repeat(COUNT / 2)}deep`],
  ['<style> without an end', `<body>words${'<style>'.repeat(COUNT)}`],
  ['<title without an end', `words${'<title '.repeat(COUNT)}`],
];

/** Hostile pages, as an archive may hold them, through the pool that the ingest uses. */
export async function pages(): Promise<readonly AttackRow[]> {
  const pool = createExtractPool();
  await pool.extract({ html: '<p>warm</p>', url: 'https://a.example/' });
  const slow: string[] = [];
  let longest = 0;
  for (const [name, html] of PAGES) {
    const before = process.cpuUsage();
    await pool.extract({ html, url: 'https://a.example/' });
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1_000_000;
    longest = Math.max(longest, seconds);
    if (seconds > SECONDS_MAX) slow.push(name);
  }
  await pool.close();
  return [
    {
      attack: `Pages of ${COUNT.toLocaleString('en')} nested or endless elements`,
      tries: PAGES.length,
      gotThrough: slow.length,
      costToAttacker: 'a page of 1 MB each',
      costToUs: `${longest.toFixed(1)} s of one thread at the most`,
      ...(slow.length > 0 && { note: slow.join('; ') }),
    },
  ];
}
