/**
 * The official conformance suite and inspector against the whole service. They need packages of
 * their own and Node 22: `npm run mcp:conformance` installs both and runs this file. Without them
 * it is skipped. Every scenario is named in test/conformance/scenarios.json: it passes, or it does
 * not apply for the reason given there.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { browser, signUp } from '../../support/oauth.js';
import { freePort } from '../../support/ports.js';
import type { TestService } from '../../support/service.js';
import { startNamedService } from '../../support/named-service.js';

interface Scenarios {
  readonly applicable: Readonly<
    Record<
      string,
      {
        revisions: string[];
        /** Revisions in which it does not apply, and why. */
        otherRevisions?: Record<string, string>;
        /** Checks of it that do not apply, and why. */
        notApplicable?: Record<string, string>;
      }
    >
  >;
  readonly notApplicable: Readonly<Record<string, string>>;
}

const home = join(import.meta.dirname, '../../../../test/conformance');
const packages = join(home, 'node_modules');
const scenarios = JSON.parse(readFileSync(join(home, 'scenarios.json'), 'utf8')) as Scenarios;
const suite = join(packages, '@modelcontextprotocol/conformance/dist/index.js');
const node = nodeOfTheSuite();
const isInstalled = node !== undefined && existsSync(suite);
const run = promisify(execFile);

function nodeOfTheSuite(): string | undefined {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const own = join(packages, `node-${process.platform}-${process.arch}`, 'bin/node');
  return existsSync(own) ? own : undefined;
}

/** Runs a program of the suite's Node; a failing scenario is an exit code and no exception. */
async function output(args: readonly string[]): Promise<string> {
  try {
    return (await run(node ?? '', args, { timeout: 60_000 })).stdout;
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? '';
  }
}

(isInstalled ? describe : describe.skip)('the official conformance suite', () => {
  let service: TestService;
  let publicUrl: string;
  let apiOrigin: string;
  beforeAll(async () => {
    ({ service, origin: publicUrl, apiOrigin } = await startNamedService());
  });
  afterAll(async () => {
    await service.stop();
  });

  test('has no scenario, and no revision of one, that scenarios.json does not name', async () => {
    const list = await output([suite, 'list']);
    const [, servers = ''] = /Server scenarios[^\n]*\n([\s\S]*?)\n\n/.exec(list) ?? [];
    const listed = [...servers.matchAll(/^ {2}- (\S+) \[([^\]]*)\]/gm)].map(
      ([, name = '', revisions = '']) => [name, revisions.split(',')] as const,
    );
    const { applicable, notApplicable } = scenarios;
    const named = [...Object.keys(applicable), ...Object.keys(notApplicable)];
    expect(listed.map(([name]) => name).sort()).toEqual(named.sort());
    for (const [name, revisions] of listed) {
      const own = applicable[name];
      if (!own) continue;
      const known = [...own.revisions, ...Object.keys(own.otherRevisions ?? {})];
      expect({ name, revisions: known.sort() }).toEqual({ name, revisions: revisions.sort() });
    }
  });

  const cases = Object.entries(scenarios.applicable).flatMap(([name, { revisions }]) =>
    revisions.map((revision) => [name, revision] as const),
  );
  test.each(cases)('%s passes in revision %s', async (name, revision) => {
    const url = `${service.gatewayUrl}/mcp`;
    const args = ['server', '--url', url, '--scenario', name, '--spec-version', revision];
    const text = await output([suite, ...args]);

    const lines = text.replace(/\u001b\[\d+m/g, '').split('\n');
    const checks = (verdict: string) =>
      lines.flatMap((line) => new RegExp(`\\[(\\S+) *\\] ${verdict}`).exec(line)?.[1] ?? []);
    expect(checks('SUCCESS').length).toBeGreaterThan(0);
    const excused = Object.keys(scenarios.applicable[name]?.notApplicable ?? {});
    expect(checks('FAILURE').sort()).toEqual(excused.sort());
  });

  test('passes the scenarios of authorization servers, a person’s consent included', async () => {
    const person = browser(publicUrl);
    await signUp(publicUrl, person);
    const port = await freePort();
    const registered = await fetch(`${publicUrl}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Conformance',
        redirect_uris: [`http://127.0.0.1:${port}/callback`],
      }),
    });
    const { client_id } = (await registered.json()) as { client_id: string };
    const resource = `${apiOrigin}/mcp`;
    const text = await new Promise<string>((resolve) => {
      const common = ['--url', publicUrl, '--client-id', client_id, '--resource', resource];
      const child = spawn(node ?? '', [suite, 'authorization', ...common, '-p', String(port)]);
      let said = '';
      let asked = false;
      child.stdout.on('data', (data: Buffer) => {
        said += data.toString();
        const url = /^http\S+\/oauth\/authorize\S+$/m.exec(said)?.[0];
        if (asked || url === undefined || !said.includes('Callback server started')) return;
        asked = true;
        void consent(person, url);
      });
      child.once('close', () => resolve(said));
    });
    expect(text).toContain('✓ authorization-server-metadata-endpoint: 2 passed, 0 failed');
    expect(text).toContain('✓ authorization-code-grant: 1 passed, 0 failed');
  });

  test('the inspector’s command line lists and calls the tool', async () => {
    const inspector = join(packages, '@modelcontextprotocol/inspector');
    const { bin } = JSON.parse(readFileSync(join(inspector, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    const program = join(inspector, Object.values(bin)[0] ?? '');
    const header = `Authorization: Bearer ${service.dev.apiKey}`;
    const at = ['--cli', `${service.apiUrl}/mcp`, '--transport', 'http', '--header', header];
    expect(JSON.parse(await output([program, ...at, '--method', 'tools/list']))).toMatchObject({
      tools: [{ name: 'search' }],
    });
    const call = ['--method', 'tools/call', '--tool-name', 'search', '--tool-arg', 'query=bread'];
    expect(JSON.parse(await output([program, ...at, ...call]))).toMatchObject({
      structuredContent: { result: { totalResults: 1 } },
    });
  });
});

async function consent(person: ReturnType<typeof browser>, url: string): Promise<void> {
  const page = await person.visit(url);
  const { url: end } = await person.answer(page, 'allow');
  await fetch(end);
}
