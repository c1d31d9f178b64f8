import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from '../../../search-core/ingest/page.js';
import { starterPages } from '../../../search-core/ingest/starter.js';

const ENGLISH = `This small library reads the configuration of a program from several places and
merges them in a documented order. Settings of the environment win over settings of a file, and
both of them win over the defaults that the program brings along.`;
const GERMAN = `Diese kleine Bibliothek liest die Einstellungen eines Programms aus mehreren Quellen
und führt sie in einer festen Reihenfolge zusammen. Einstellungen der Umgebung gehen denen einer
Datei vor, und beide gehen den mitgelieferten Vorgaben vor, wie man es erwarten würde.`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'starter-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function install(
  path: string,
  manifest: Record<string, unknown> | string,
  readme: { name?: string; text: string },
): Promise<void> {
  const at = join(directory, path);
  await mkdir(at, { recursive: true });
  const json = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
  await writeFile(join(at, 'package.json'), json);
  await writeFile(join(at, readme.name ?? 'README.md'), readme.text);
}

async function pages(): Promise<Page[]> {
  const found: Page[] = [];
  for await (const page of starterPages(directory)) found.push(page);
  return found;
}

describe('the starter index', () => {
  test('holds plain, scoped and nested packages in the order of their names', async () => {
    await install('zeta', { name: 'zeta', version: '1.0.0' }, { text: ENGLISH });
    await install('@scope/alpha', { name: '@scope/alpha', version: '1.0.0' }, { text: ENGLISH });
    await install(
      'zeta/node_modules/inner',
      { name: 'inner', version: '1.0.0' },
      { name: 'readme.markdown', text: ENGLISH },
    );
    expect((await pages()).map((page) => page.url)).toEqual([
      'https://www.npmjs.com/package/@scope/alpha',
      'https://www.npmjs.com/package/inner',
      'https://www.npmjs.com/package/zeta',
    ]);
  });

  test('has one page for a package installed several times: the newest version, 10 after 9', async () => {
    await install('a', { name: 'a', version: '9.2.0' }, { text: `${ENGLISH}\n\nOld words.` });
    await install(
      'b/node_modules/a',
      { name: 'a', version: '10.0.0' },
      { text: `${ENGLISH}\n\nNew words.` },
    );
    await install(
      'c/node_modules/a',
      { name: 'a', version: '10.0.0-beta.1' },
      { text: `${ENGLISH}\n\nEarly words.` },
    );
    const found = await pages();
    expect(found).toHaveLength(1);
    expect(found[0]?.text).toContain('New words.');
  });

  test('is titled by the name and the description, else by the first heading', async () => {
    await install('one', { name: 'one', description: 'Reads *settings*' }, { text: ENGLISH });
    await install('three', { name: 'three' }, { text: `# three\n\n${ENGLISH}` });
    await install('two', { name: 'two' }, { text: `# Settings, read\n\n${ENGLISH}` });
    expect((await pages()).map((page) => page.title)).toEqual([
      'one: Reads settings',
      'three',
      'two: Settings, read',
    ]);
  });

  test('leaves out other languages, tiny READMEs, broken manifests and unsafe names', async () => {
    await install('deutsch', { name: 'deutsch' }, { text: GERMAN });
    await install('tiny', { name: 'tiny' }, { text: '# tiny\n\nSee the website.' });
    await install('broken', '{"name":', { text: ENGLISH });
    await install('list', '[]', { text: ENGLISH });
    await install('odd', { name: '../../etc/passwd' }, { text: ENGLISH });
    await install('number', { name: 7 }, { text: ENGLISH });
    expect(await pages()).toEqual([]);
  });

  test('is empty where nothing is installed', async () => {
    directory = join(directory, 'absent');
    expect(await pages()).toEqual([]);
  });
});
