import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const CLI = join(process.cwd(), 'dist/search-core/cli.js');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'index-cli-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function index(...args: string[]) {
  const child = spawn(process.execPath, [CLI, ...args, '--index', join(directory, 'index')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}

async function file(...urls: string[]): Promise<string> {
  const path = join(directory, 'pages.jsonl');
  const lines = urls.map((url) => JSON.stringify({ url, title: 'Title', text: 'Words to find.' }));
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

describe('npm run index', () => {
  test('fills, verifies, adds to and deletes from a real index', async () => {
    const first = await index(await file('https://x.example/1', 'https://x.example/2'));
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toContain('2 pages kept, 0 dropped');
    const added = await index('jsonl', await file('https://x.example/3'), '--add', '--json');
    expect(JSON.parse(added.out)).toMatchObject({ ok: true, kept: 1, indexPages: 3 });
    expect((await index('delete', 'https://x.example/1#top')).out).toContain('now holds 2 pages');
    const checked = await index('check', '--json');
    expect(JSON.parse(checked.out)).toMatchObject({ ok: true, pages: 2, problems: [] });
  });

  test('deletes hosts and patterns, and what was taken down no load brings back', async () => {
    const urls = ['https://x.example/a/1', 'https://x.example/b/1', 'http://y.example/a/1'];
    await index(await file(...urls, 'https://z.y.example/'));
    expect((await index('delete', 'x.example/a/*')).out).toContain('1 pages removed');
    const taken = await index('takedown', '*.y.example', 'https://x.example/b/1', '--json');
    expect(JSON.parse(taken.out)).toEqual({ ok: true, removed: 3, indexPages: 0 });
    const again = await index(await file(...urls, 'https://q.example/'), '--json');
    expect(JSON.parse(again.out)).toMatchObject({ ok: true, indexPages: 2 });
    expect((await index('delete', '*')).err).toContain('not understood: *');
  });

  test('says what is wrong in a sentence, with a code, and leaves the index', async () => {
    await index(await file('https://x.example/1'));
    const empty = await index(await file());
    expect(empty.code).toBe(1);
    expect(empty.err).toMatch(/^IngestError: no usable page was found; the index is as it was/u);
    expect((await index('unheard-of')).code).toBe(2);
    expect((await index('--unheard-of')).code).toBe(2);
    expect((await index('jsonl', join(directory, 'absent'))).err).toMatch(/ENOENT/u);
    expect((await index('check')).out).toContain('sound, 1 pages');
  });

  test('explains itself', async () => {
    const { code, out } = await index('--help');
    expect(code).toBe(0);
    expect(out).toContain('npm run index -- FILE.jsonl');
  });
});
