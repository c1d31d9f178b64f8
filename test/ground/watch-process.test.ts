import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startWatch } from '../../gateway/ground/processes/watch.js';
import { systemClock as clock } from '../../gateway/ground/system.js';
import { watchFacts } from '../../gateway/wiring/watch-facts.js';
import { lock } from '../../search-core/disk/lock.js';
import { htmlPage } from '../support/prose.js';
import { startSite } from '../support/site.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import { until } from '../support/until.js';

removeTemporaries();

test('a watch beside the gateway fills the index, reads its file again, and stops with it', async () => {
  const directory = temporary();
  const indexDir = join(directory, 'index');
  const sourcesFile = join(directory, 'sources.json');
  const site = await startSite();
  site.page('/', htmlPage(1));
  const write = (sources: object[]): void =>
    writeFileSync(sourcesFile, JSON.stringify({ sources, allowPrivate: true }));
  mkdirSync(join(directory, 'drop'));
  write([{ kind: 'jsonl', folder: 'drop' }]);
  const said: string[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (_fields: object, message: string) => void said.push(message),
    error: (_fields: object, message: string) => void said.push(message),
  };
  const watch = startWatch({ indexDir, sourcesFile, clock, log });
  await until(async () => (await watchFacts(indexDir)) !== undefined);
  writeFileSync(sourcesFile, '{');
  await until(() => said.some((line) => line.includes('sources.json is not JSON')));
  write([{ kind: 'site', url: `${site.origin}/` }]);
  await until(async () => ((await watchFacts(indexDir))?.indexPages ?? 0) > 0);
  expect((await watchFacts(indexDir))?.sources).toMatchObject([{ indexed: 1 }]);
  await watch.stop();
  // Nobody holds its lock any more.
  lock(`${indexDir}.watch.lock`, 'the watch').release();
  expect(said.filter((line) => !line.includes('is not JSON'))).toEqual([]);
  await site.close();
});
