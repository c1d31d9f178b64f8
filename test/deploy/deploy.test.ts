/** What an operator deploys: each file by its own tool where that is here, and by what it must say. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { z } from 'zod';
import { SECRET_FILES, SECRET_SETTINGS } from '../../gateway/wiring/secret-settings.js';
import { SETTING_NAMES } from '../../gateway/wiring/config.js';
import { startTestChain } from '../support/chain.js';
import { startFakeSearchCore } from '../support/fake-search-core.js';
import { startGateway } from '../support/gateway-process.js';
import { startTestService } from '../support/service.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import { runTool, sayMissing, toolPath } from '../support/tools.js';

removeTemporaries();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const serviceSchema = z.looseObject({
  image: z.string().optional(),
  environment: z.record(z.string(), z.string()).optional(),
  env_file: z.array(z.object({ path: z.string(), required: z.boolean() })).optional(),
  cap_drop: z.array(z.string()).optional(),
  read_only: z.boolean().optional(),
  stop_grace_period: z.string().optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.unknown()),
});
const compose = composeSchema.parse(parse(read('deploy/compose.yaml'), { merge: true }));
const serviceOf = (name: string) => {
  const service = compose.services[name];
  if (!service) throw new Error(`there is no service ${name}`);
  return service;
};

describe('Compose', () => {
  test.each(['deploy/compose.yaml', 'docker-compose.yml'])('%s fits the schema', (file) => {
    // Compose's own (compose-spec/compose-spec, Apache-2.0, of 23 June 2026); it names its draft unusually.
    const { $schema: _, ...schema } = JSON.parse(read('test/deploy/compose-spec.json')) as {
      $schema: string;
    };
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const isValid = ajv.validate(schema, parse(read(file), { merge: true }));
    expect([ajv.errorsText(), isValid]).toEqual(['No errors', true]);
  });

  test('passes every setting to the gateway and its backup: all but places inside the container', () => {
    for (const name of ['gateway', 'backup']) {
      const { env_file: files, environment = {} } = serviceOf(name);
      expect(files).toEqual([{ path: '.env', required: true }]);
      const fixed = Object.keys(environment).sort();
      expect(fixed).toEqual(['API_PORT', 'DATA_DIR', 'HOST', 'OPS_HOST', 'OPS_PORT', 'PORT']);
      for (const setting of fixed) expect(SETTING_NAMES).toContain(setting);
    }
  });

  test('runs each of our services with a read-only root, no capabilities, and time to drain', () => {
    for (const name of ['gateway', 'search-core', 'backup', 'caddy', 'prometheus', 'grafana']) {
      const { cap_drop: dropped, read_only: isReadOnly } = serviceOf(name);
      expect([name, dropped, isReadOnly]).toEqual([name, ['ALL'], true]);
    }
    const { DRAIN_TIMEOUT_MS } = /DRAIN_TIMEOUT_MS=(?<DRAIN_TIMEOUT_MS>\d+)/.exec(
      read('.env.example'),
    )?.groups ?? { DRAIN_TIMEOUT_MS: '' };
    const graceMs = Number.parseInt(serviceOf('gateway').stop_grace_period ?? '') * 1000;
    expect(graceMs).toBeGreaterThan(Number(DRAIN_TIMEOUT_MS) + 5000);
  });

  test('opens nothing to the network but TLS, and names every volume and version', () => {
    for (const [name, { ports = [], volumes = [], image = '' }] of Object.entries(
      compose.services,
    )) {
      for (const port of ports) if (name !== 'caddy') expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (!source.startsWith('.')) expect(Object.keys(compose.volumes)).toContain(source);
        else expect(source === './secrets' || statSync(join(root, 'deploy', source))).toBeTruthy();
      }
      expect(image).toMatch(/:(production|v?\d+\.\d+)/);
    }
  });
});

test('every setting that sounds like a secret is known as one', () => {
  const secret = SETTING_NAMES.filter((name) => /KEY|SECRET|TOKEN|PASS/.test(name));
  for (const name of secret) {
    expect([name, SECRET_SETTINGS.has(name) || SECRET_FILES.includes(name)]).toEqual([name, true]);
  }
  for (const name of [...SECRET_SETTINGS, ...SECRET_FILES]) expect(SETTING_NAMES).toContain(name);
});

test('systemd takes the units', async () => {
  const tool = toolPath('systemd-analyze');
  if (tool === undefined) {
    sayMissing('systemd-analyze', 'It comes with systemd');
    return;
  }
  const folder = temporary();
  const units = readdirSync(join(root, 'deploy/systemd'));
  for (const unit of units) {
    const text = read(`deploy/systemd/${unit}`).replace('/usr/bin/node', process.execPath);
    writeFileSync(join(folder, unit), text);
  }
  const said = await runTool(tool, ['verify', ...units.map((unit) => join(folder, unit))]);
  expect(said).toBe('');
});

test('Helm takes the chart', async () => {
  const tool = toolPath('helm');
  if (tool === undefined) {
    sayMissing('helm', 'Install it from https://helm.sh');
    return;
  }
  const chart = join(root, 'deploy/helm/search402');
  await runTool(tool, ['lint', chart, '--strict']);
  const set = 'settings.PRICE_USD=0.001,secretFiles=keys,secretSettings=env,serviceMonitor=true';
  const made = await runTool(tool, ['template', 'name', chart, '--set', set]);
  expect(made).toContain('readOnlyRootFilesystem: true');
});

describe('Prometheus and Grafana', () => {
  const rules = z
    .object({
      groups: z.array(
        z.object({
          rules: z.array(
            z.looseObject({
              alert: z.string(),
              expr: z.string(),
              annotations: z.object({ summary: z.string(), runbook: z.string() }),
            }),
          ),
        }),
      ),
    })
    .parse(parse(read('deploy/prometheus/alerts.yml')))
    .groups.flatMap((group) => group.rules);

  test('promtool takes the rules, and each rings when it must', async () => {
    const tool = toolPath('promtool');
    if (tool === undefined) {
      sayMissing('promtool', 'Debian: apt-get install prometheus');
      return;
    }
    const folder = join(root, 'deploy/prometheus');
    await runTool(tool, ['check', 'config', 'prometheus.yml'], folder);
    expect(await runTool(tool, ['test', 'rules', 'alerts.test.yml'], folder)).toContain('SUCCESS');
  });

  test('each alert has a runbook that is there', () => {
    const headings = read('docs/operate/alerts.md').match(/^## .+$/gm) ?? [];
    expect(rules.map(({ alert }) => `## ${alert}`)).toEqual(headings);
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/operate/alerts.md#${alert.toLowerCase()}`);
    }
  });

  test('every number that alerts and the dashboard ask for is one that the service tells', async () => {
    const core = await startFakeSearchCore();
    const service = await startTestService({ env: { SEARCH_CORE_URL: core.url, CHANNELS: 'on' } });
    const told = await (await fetch(`${service.opsUrl}/metrics`)).text();
    await service.stop();
    await core.stop();
    const dashboard = read('deploy/grafana/search402.json');
    const manual = read('docs/operate/alerts.md');
    const asked = [...rules.map(({ expr }) => expr), dashboard, manual].join('\n');
    const names = new Set(asked.match(/search402_\w+/g));
    expect(names.size).toBeGreaterThan(20);
    const missing = [...names].filter(
      (name) => !told.includes(`# TYPE ${name.replace(/_bucket$/, '')} `),
    );
    expect(missing).toEqual([]);
    expect(told).toMatch(/^search402_payments_open 0$/m);
    expect(told).toMatch(/^search402_part_seconds_count\{part="database"\} [1-9]/m);
    expect(told).toMatch(/^search402_part_seconds_count\{part="rpc"\} [1-9]/m);
    expect(told).toMatch(/^search402_search_node_index_bytes\{node="[^"]+"\} 5000$/m);
    expect(told).toMatch(/^search402_search_node_index_age_seconds\{node="[^"]+"\} \d/m);
    expect(told).toMatch(/^search402_payments_last_hour\{outcome="settled"\} 0$/m);
    expect(told).toMatch(/^search402_build_info\{version="[\d.]+"\} 1$/m);
  });
});

describe('the slim image', () => {
  test('has what a gateway on a real chain runs, and neither development chain nor compiler nor tests', async () => {
    const slim = join(temporary(), 'slim');
    await runTool(process.execPath, [join(root, 'scripts/slim.mjs'), slim]);
    const files = readdirSync(slim, { recursive: true, encoding: 'utf8' });
    expect(
      files.filter((file) => /anvil-|node_modules\/(esbuild|typescript)|^dist\/test/.test(file)),
    ).toEqual([]);
    const [chain, core] = await Promise.all([startTestChain(), startFakeSearchCore()]);
    const settings = {
      DATA_DIR: temporary(),
      SEARCH_CORE_URL: core.url,
      RPC_URLS: chain.rpcUrl,
      PAY_TO: chain.payTo,
      RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    };
    const gateway = await startGateway(settings, { main: join(slim, 'dist/gateway/main.js') });
    const { status } = await fetch(`${gateway.opsUrl}/readyz/payments`);
    gateway.process.kill('SIGTERM');
    expect([status, await gateway.exited]).toEqual([200, 0]);
    await chain.stop();
    await core.stop();
  });
});
