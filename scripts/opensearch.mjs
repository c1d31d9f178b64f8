// npm run opensearch: gets a real OpenSearch from Maven Central (53 MB, once), for tests and benchmarks.
// npm run opensearch -- --port 9200 [--heap 1g]: the same, and runs one node until Ctrl-C, with data that goes then.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { opensearchHome } from './opensearch-home.mjs';

const { values } = parseArgs({
  options: { port: { type: 'string' }, heap: { type: 'string', default: '1g' } },
});
const source = (name) => fileURLToPath(new URL(`./opensearch/${name}`, import.meta.url));
const lib = join(opensearchHome, 'lib');

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit', cwd: opensearchHome });
  if (status === 0) return;
  console.error(
    `${program} failed${error ? ` (${error.message})` : ''}. You need a JDK (17 or newer) and Maven.`,
  );
  process.exit(1);
}

if (!existsSync(join(opensearchHome, 'Node.class'))) {
  mkdirSync(opensearchHome, { recursive: true });
  copyFileSync(source('pom.xml'), join(opensearchHome, 'pom.xml'));
  run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${lib}`]);
  run('javac', ['-cp', `${lib}/*`, '-d', opensearchHome, source('Node.java')]);
}
console.log(`OpenSearch is in ${opensearchHome}`);

if (values.port) {
  const home = mkdtempSync(join(tmpdir(), 'opensearch-'));
  mkdirSync(join(home, 'config'));
  const heap = [`-Xms${values.heap}`, `-Xmx${values.heap}`];
  const settings = [`http.port=${values.port}`, 'discovery.type=single-node'];
  const classes = `${lib}/*:${opensearchHome}`;
  const node = spawn('java', [...heap, '-cp', classes, 'Node', home, ...settings], {
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  process.on('SIGINT', () => node.stdin.end());
  node.once('exit', (code) => {
    rmSync(home, { recursive: true, force: true });
    process.exit(code ?? 1);
  });
}
