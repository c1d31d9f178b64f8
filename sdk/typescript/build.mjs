// node build.mjs: compiles the package twice (ESM and CommonJS), and checks that what browsers get
// knows nothing of Node.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

function compile(project) {
  const args = [tsc, '--project', join(here, project)];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(join(here, 'dist'), { recursive: true, force: true });
compile('tsconfig.browser.json');
compile('tsconfig.json');
compile('tsconfig.cjs.json');
writeFileSync(join(here, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
const program = join(here, 'dist/esm/cli/main.js');
if (existsSync(program)) chmodSync(program, 0o755);
