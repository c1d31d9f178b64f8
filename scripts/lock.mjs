// node scripts/lock.mjs: tidies package-lock.json after `npm install`. Removes download addresses,
// so that everyone's own registry is asked, and completes the entries of binaries for platforms
// that the writing machine could not see, without which `npm ci` refuses the file elsewhere. Asks the
// registry for hashes that are missing, and names the packages that it does not know.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'sunos', 'aix'];
const PROCESSORS = {
  amd64: 'x64',
  x64: 'x64',
  arm64: 'arm64',
  arm: 'arm',
  ia32: 'ia32',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
  loong64: 'loong64',
  mips64el: 'mips64el',
};

/** Reads the platform out of a name such as `@scope/binding-linux-arm64-musl`. */
function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = words.flatMap((word) => PROCESSORS[word] ?? []);
  return { ...(os.length > 0 && { os }), ...(cpu.length > 0 && { cpu: [cpu[0]] }) };
}

const file = join(root, 'package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));
const isInstalled = (parent, name) => {
  for (let at = parent; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${at ? `${at}/` : ''}node_modules/${name}`]) return true;
    if (!at.includes('/node_modules/')) return Boolean(lock.packages[`node_modules/${name}`]);
  }
};
for (const [path, entry] of Object.entries(lock.packages)) {
  delete entry.resolved;
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const platform = platformOf(name);
    if (isInstalled(path, name) || !(platform.os || platform.cpu)) continue;
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(entry.dev && { dev: true }),
      optional: true,
      ...platform,
    };
  }
}

/** The hash that the registry knows for a package, if it knows the package. */
function integrityOf(name, version) {
  try {
    const args = ['view', `${name}@${version}`, 'dist.integrity'];
    return execFileSync('npm', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === '' || entry.link || entry.integrity) continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const integrity = integrityOf(name, entry.version);
  if (integrity) entry.integrity = integrity;
  else console.error(`${name}@${entry.version}: the registry tells no hash`);
}

const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(sorted);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
