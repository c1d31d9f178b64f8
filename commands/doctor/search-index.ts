import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { lookAtSearchCore } from '../../gateway/ground/processes/look-at-search-core.js';
import { nameOf } from '../../gateway/ground/processes/search-nodes.js';
import type { Config } from '../../gateway/wiring/config.js';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { checkIndex } from '../../search-core/index/check.js';
import { COMMIT_FILE, filesOf, readCommit } from '../../search-core/index/commit.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

const MIB = 1024 * 1024;
/** An index up to this size is read to its last posting, in some seconds. */
const READ_THROUGH_BYTES_MAX = 256 * MIB;
const DAY_MS = 86_400_000;
/** What the web says of today is not found in an index that is older. */
const DAYS_OLD = 30;
const TIMEOUT_MS = 3_000;

/** What answers the searches. */
export async function lookAtIndex(config: Config): Promise<readonly Finding[]> {
  const { searchCoreUrls, DATA_DIR } = config;
  if (searchCoreUrls.length > 0) return [await lookAtNodes(searchCoreUrls)];
  const folder = join(DATA_DIR, 'index');
  if (!existsSync(folder)) {
    const said = 'There is no index yet: the starter pages are indexed at the first start.';
    return [good('index', said)];
  }
  let bytes: number;
  try {
    bytes = await sizeOf(folder);
  } catch (error) {
    return [damaged(reasonOf(error))];
  }
  const size = `${Math.ceil(bytes / MIB)} MiB`;
  if (bytes > READ_THROUGH_BYTES_MAX) {
    const said = `The index has ${size}, and all of its files are there.`;
    return [good('index', said), ...(await lookAtAgeAndRoom(folder, bytes))];
  }
  const { ok, pages, problems } = await checkIndex(folder);
  if (!ok) return [damaged(problems[0] ?? 'unknown')];
  const said = `The index has ${pages} pages in ${size} and is sound.`;
  return [good('index', said), ...(await lookAtAgeAndRoom(folder, bytes))];
}

const damaged = (why: string): Finding =>
  bad(
    'index',
    `The index is damaged: ${why}.`,
    'Index the pages again (npm run index), or put back a copy of the folder.',
  );

/** Bytes of the last commit's files. @throws where one is missing. */
async function sizeOf(folder: string): Promise<number> {
  const names = [COMMIT_FILE, ...filesOf(readCommit(openDirectory(folder)))];
  const sizes = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined);
      if (!found) throw new Error(`${name} is missing`);
      return found.size;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function lookAtAgeAndRoom(folder: string, bytes: number): Promise<readonly Finding[]> {
  const { mtimeMs } = await stat(join(folder, COMMIT_FILE));
  const days = Math.floor((Date.now() - mtimeMs) / DAY_MS);
  const changed = `The index changed last ${days} days ago.`;
  const age =
    days > DAYS_OLD
      ? warning(
          'index.age',
          changed,
          'Add new pages (npm run index), or let it follow their sources: WATCH_SOURCES.',
        )
      : good('index.age', changed);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes) return [age];
  const said = `The index needs ${Math.ceil(bytes / MIB)} MiB, and its disk has ${Math.floor(free / MIB)} left.`;
  const cure = 'Make room for as much again: a merge writes the index anew beside the old one.';
  return [age, warning('index.room', said, cure)];
}

/** All nodes well, or some of them, or none. */
async function lookAtNodes(urls: readonly string[]): Promise<Finding> {
  const looks = await Promise.all(
    urls.map(async (url) => {
      const look = lookAtSearchCore(url, AbortSignal.timeout(TIMEOUT_MS));
      const fault = await look.then(() => undefined, reasonOf);
      return { name: nameOf(url), fault };
    }),
  );
  const faults = looks.flatMap(({ name, fault }) => (fault === undefined ? [] : { name, fault }));
  const names = looks.map(({ name }) => name).join(', ');
  if (faults.length === 0) return good('index', `search-core at ${names} can search.`);
  const said = faults.map(({ name, fault }) => `At ${name}: ${fault}.`).join(' ');
  const setting = urls.length === 1 ? 'SEARCH_CORE_URL' : 'SEARCH_CORE_URLS';
  const cure = `Start it, and check ${setting}; its own log says what it lacks.`;
  return faults.length < urls.length ? warning('index', said, cure) : bad('index', said, cure);
}
