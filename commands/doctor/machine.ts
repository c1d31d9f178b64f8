import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { listen, listenFault } from '../../gateway/edge/http/server.js';
import { openToOthers } from '../../gateway/ground/private-files.js';
import { lookAtSearchCore } from '../../gateway/ground/processes/look-at-search-core.js';
import { nameOf } from '../../gateway/ground/processes/search-nodes.js';
import type { Config } from '../../gateway/wiring/config.js';
import { checkIndex } from '../../search-core/index/check.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

const MIB = 1024 * 1024;
const FREE_BYTES = { warning: 2048 * MIB, bad: 256 * MIB };
const TIMEOUT_MS = 3_000;

/** The data folder: room on its disk, and who may read it. */
export async function lookAtFolder({ DATA_DIR }: Config): Promise<readonly Finding[]> {
  const found = await stat(DATA_DIR).catch(() => undefined);
  if (!found)
    return [good('folder', `The data folder ${DATA_DIR} will be made at the first start.`)];
  if (!found.isDirectory()) {
    return [bad('folder', `${DATA_DIR} is a file.`, 'Set DATA_DIR to a folder.')];
  }
  const { bavail, bsize } = await statfs(DATA_DIR);
  const free = bavail * bsize;
  const said = `The disk of the data folder has ${Math.floor(free / MIB)} MiB left.`;
  const cure = `Make room on the disk of ${DATA_DIR}: without any, nothing can be sold.`;
  const room =
    free < FREE_BYTES.bad
      ? bad('disk', said, cure)
      : free < FREE_BYTES.warning
        ? warning('disk', said, cure)
        : good('disk', said);
  const isOpen = process.platform !== 'win32' && (found.mode & 0o077) !== 0;
  const mode = isOpen
    ? [
        warning(
          'permissions.folder',
          `Other users of this machine may read the data folder ${DATA_DIR}.`,
          `Close it: chmod -R go-rwx ${DATA_DIR}`,
        ),
      ]
    : [good('permissions.folder', 'The data folder is its user’s alone.')];
  return [room, ...mode];
}

/** Files with secrets that others can read. */
export async function lookAtKeyFiles(config: Config): Promise<readonly Finding[]> {
  const { chain, SEALING_KEY_FILE } = config;
  const files: [string, string][] = [];
  if (chain.kind === 'mainnet' && 'file' in chain.mover) {
    const { file, passphraseFile } = chain.mover;
    files.push(['RELAYER_PRIVATE_KEY_FILE', file]);
    if (passphraseFile !== undefined) files.push(['RELAYER_PASSPHRASE_FILE', passphraseFile]);
  }
  if (SEALING_KEY_FILE !== undefined) files.push(['SEALING_KEY_FILE', SEALING_KEY_FILE]);
  const open = await Promise.all(files.map(([setting, file]) => openToOthers(setting, file)));
  return open
    .flat()
    .map((said) =>
      bad('permissions.keys', said, 'Close the file, and make new keys: see SECURITY.md.'),
    );
}

/** What answers the searches. */
export async function lookAtIndex(config: Config): Promise<Finding> {
  const { searchCoreUrls, DATA_DIR } = config;
  if (searchCoreUrls.length > 0) return lookAtNodes(searchCoreUrls);
  const folder = join(DATA_DIR, 'index');
  if (!existsSync(folder)) {
    return good(
      'index',
      'There is no index yet: the starter pages are indexed at the first start.',
    );
  }
  const { ok, pages, problems } = await checkIndex(folder);
  if (ok) return good('index', `The index has ${pages} pages and is sound.`);
  const cure = 'Index the pages again (npm run index), or put back a copy of the folder.';
  return bad('index', `The index is damaged: ${problems[0] ?? 'unknown'}.`, cure);
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

/** Whether the service can listen where it is told, or already does. */
export async function lookAtPorts(config: Config): Promise<readonly Finding[]> {
  const { HOST, OPS_HOST, PORT, API_PORT, OPS_PORT } = config;
  const places = [
    ['PORT', HOST, PORT],
    ['API_PORT', HOST, API_PORT],
    ['OPS_PORT', OPS_HOST, OPS_PORT],
  ] as const;
  return Promise.all(
    places.map(async ([setting, host, port]) => {
      const server = createServer();
      try {
        await listen(server, port, host);
        return good('ports', `${setting} ${port} on ${host} is free.`);
      } catch (error) {
        if (await isService(host, port)) {
          return good('ports', `The service listens on ${setting} ${port}.`);
        }
        const fault = reasonOf(listenFault(error, { setting, port, host }));
        return bad('ports', fault, `Set ${setting} to a port that is free and allowed.`);
      } finally {
        server.close();
      }
    }),
  );
}

async function isService(host: string, port: number): Promise<boolean> {
  const place = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  const name = place.includes(':') ? `[${place}]` : place;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${name}:${port}/livez`, { signal });
    return ((await response.json()) as { status?: string }).status === 'live';
  } catch {
    return false;
  }
}
