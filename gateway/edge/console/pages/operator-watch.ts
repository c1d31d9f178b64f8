import type { Router } from 'express';
import type { Guard } from '../guard.js';
import { html } from '../html.js';
import { facts, notice, number, sendPage, table } from '../page.js';
import type { ConsoleParts, WatchFacts } from '../parts.js';

const PATH = '/console/operator/watch';
/** A watch writes every few seconds; one that has been silent for so long does not run. */
const SILENT_MS = 10 * 60_000;

/** How fresh the index is: the sources of the watch, what it left out and why, and what is wrong. */
export function operatorWatchPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { watch, clock } = parts;
  router.get(
    '/operator/watch',
    guard.operator(async (viewer, _request, response) => {
      const found = await watch?.();
      sendPage(response, {
        title: 'Index',
        viewer,
        path: PATH,
        body: found ? bodyOf(found, clock.now()) : nothing(),
      });
    }),
  );
}

const nothing = () =>
  html`<p>
    Nothing keeps this index fresh. List your sites, sitemaps and feeds in a file, and name it in
    <code>WATCH_SOURCES</code>.
  </p>`;

function bodyOf(watch: WatchFacts, nowMs: number) {
  const { sources, outcomes, turnedAway, problems } = watch;
  const isSilent = nowMs - watch.atMs > SILENT_MS;
  const left = outcomes.filter(({ reason }) => reason !== null);
  return html`${
      isSilent
        ? notice('bad', `The watch has said nothing since ${moment(watch.atMs)}. Is it running?`)
        : ''
    }
    ${problems.map((problem) => notice('bad', problem))}
    ${facts([
      ['Pages in the index', number(watch.indexPages)],
      ['Known addresses', number(watch.addresses)],
      ['Looks since the start', number(watch.looks)],
      ['Looks a second', number(watch.looksPerSecond)],
      ['Last changes were searchable after', `${(watch.lastCommitWaitedMs / 1_000).toFixed(1)} s`],
    ])}
    <h2>Sources</h2>
    ${table(
      'Sources',
      ['Source', 'Addresses', 'In the index', 'New', 'Due', 'Last look'],
      sources.map((source) => [
        source.name,
        number(source.addresses),
        number(source.indexed),
        number(source.neverLookedAt),
        number(source.overdue),
        source.lastLook === 0 ? '–' : moment(source.lastLook * 1_000),
      ]),
      'No sources yet.',
    )}
    <h2>Left out</h2>
    ${table(
      'Left out',
      ['Reason', 'Addresses', 'For example'],
      left.map(({ outcome, reason, count, example }) => [
        html`<code>${reason ?? outcome}</code>`,
        number(count),
        example,
      ]),
      'Nothing was left out.',
    )}
    <h2>Not taken up since the start</h2>
    ${table(
      'Not taken up',
      ['Reason', 'Times'],
      Object.entries(turnedAway)
        .sort(([, a], [, b]) => b - a)
        .map(([reason, count]) => [html`<code>${reason}</code>`, number(count)]),
      'Nothing was turned away.',
    )}`;
}

const moment = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
