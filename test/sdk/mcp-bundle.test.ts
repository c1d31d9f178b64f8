/** What hosts and the MCP registry read about the package, and the bundle that hosts install. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { z } from 'zod';
import { GOOD_KEY, startMcp } from '../support/mcp.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import { runTool, sayMissing, toolPath } from '../support/tools.js';

removeTemporaries();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

const packageSchema = z.looseObject({ version: z.string(), mcpName: z.string() });
const { version, mcpName } = packageSchema.parse(read('sdk/typescript/package.json'));

const manifestSchema = z.looseObject({
  version: z.string(),
  server: z.looseObject({
    entry_point: z.string(),
    mcp_config: z.object({
      command: z.string(),
      args: z.array(z.string()),
      env: z.record(z.string(), z.string()),
    }),
  }),
});
const manifest = manifestSchema.parse(read('sdk/typescript/mcp/manifest.json'));

test('the manifest is one of the published schema, of this version', () => {
  const ajv = new Ajv({ strict: false });
  formats.default(ajv);
  // github.com/modelcontextprotocol/mcpb, schemas/mcpb-manifest-v0.3.schema.json
  const isValid = ajv.compile(read('test/sdk/schemas/mcpb-manifest-0.3.json') as object);
  isValid(manifest);
  expect(isValid.errors).toBeNull();
  expect(isValid({ ...manifest, author: 'me' })).toBe(false);
  expect(manifest.version).toBe(version);
});

const input = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  placeholder: z.string().optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
});
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/** The rules of that schema for the members that are used here, and for no others. */
const serverSchema = z.strictObject({
  $schema: z.literal(SCHEMA),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  packages: z.tuple([
    z.strictObject({
      registryType: z.literal('npm'),
      identifier: z.string(),
      version: z.string().regex(/^\d+\.\d+\.\d+$/),
      runtimeHint: z.literal('npx'),
      packageArguments: z.array(
        z.strictObject({ type: z.literal('positional'), value: z.string() }),
      ),
      environmentVariables: z.array(input.required({ name: true })),
      transport: z.strictObject({ type: z.literal('stdio') }),
    }),
  ]),
  remotes: z.tuple([
    z.strictObject({
      type: z.literal('streamable-http'),
      url: z.string().regex(/^https?:\/\/[^\s]+$/),
      variables: z.record(z.string(), input),
    }),
  ]),
});

test('server.json keeps the rules of the registry, and names this package', () => {
  const server = serverSchema.parse(read('sdk/typescript/mcp/server.json'));
  // The registry reads the name in the package, to see that both have one owner.
  expect(server.name).toBe(mcpName);
  expect([server.version, server.packages[0].version]).toEqual([version, version]);
  expect(server.packages[0]).toMatchObject({
    identifier: 'search402',
    packageArguments: [{ value: 'mcp' }],
  });
  const [remote] = server.remotes;
  const named = [...remote.url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  expect(named).toEqual(Object.keys(remote.variables));
});

test('the bundle, unpacked and started as its manifest says, searches', async () => {
  const unzip = toolPath('unzip');
  if (unzip === undefined) {
    sayMissing('unzip', 'Install it (apt-get install unzip)');
    return;
  }
  const directory = temporary();
  const file = join(directory, 'search402.mcpb');
  await runTool(process.execPath, [join(root, 'sdk/typescript/mcp/bundle.mjs'), file]);
  await runTool(unzip, ['-q', file, '-d', directory]);
  expect(JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'))).toEqual(manifest);

  const service = await startMcp({ face: 'api' });
  const values: Readonly<Record<string, string>> = {
    __dirname: directory,
    'user_config.api_key': GOOD_KEY.replace('Bearer ', ''),
    'user_config.base_url': service.url.replace(/\/mcp$/, ''),
  };
  const filled = (text: string) =>
    text.replace(/\$\{([\w.]+)\}/g, (_, name: string) => values[name] ?? 'not a variable');
  const { mcp_config, entry_point } = manifest.server;
  const args = mcp_config.args.map(filled);
  expect(args[0]).toBe(join(directory, entry_point));
  const env = Object.fromEntries(
    Object.entries(mcp_config.env).map(([name, value]) => [name, filled(value)]),
  );
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }),
  );
  const found = await client.callTool({ name: 'search', arguments: { query: 'kestrel' } });
  expect(found).toMatchObject({ structuredContent: { result: { totalResults: 1 } } });
  await client.close();
  await service.close();
});
