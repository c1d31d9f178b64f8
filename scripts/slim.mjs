/**
 * node scripts/slim.mjs FOLDER: copies what a production gateway runs to FOLDER, and nothing else: no
 * development chain, no compiler, no tests, no types. Files are linked where that is possible. The
 * Dockerfile's last stage is such a folder.
 */
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './steps.mjs';

/** Packages that only a development start or a build uses. */
const DEVELOPMENT = /^node_modules\/(@foundry-rs\/|esbuild$|@esbuild\/|@types\/)/;
/** Commands that need the tests' parts. */
const OTHERS = /^dist\/(test|scripts|bench)\/|^dist\/commands\/(attack|kill|sim|storm)[./]/;
const UNREAD = /\.(d\.[cm]?ts|ts|map|md|tsbuildinfo)$/;

const [target] = process.argv.slice(2);
if (target === undefined || existsSync(target)) {
  console.error('node scripts/slim.mjs FOLDER: name a folder that is not there yet');
  process.exit(2);
}

function take(path) {
  const place = join(target, path);
  mkdirSync(join(place, '..'), { recursive: true });
  try {
    linkSync(join(root, path), place);
  } catch {
    copyFileSync(join(root, path), place);
  }
}

function takeAll(folder, isWanted) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
    const path = relative(root, join(entry.parentPath, entry.name));
    if (entry.isFile() && isWanted(path)) take(path);
  }
}

take('package.json');
take('LICENSE');
// The page of errors is made from it.
take('docs/errors.md');
takeAll('dist', (path) => !OTHERS.test(path) && !/\.tsbuildinfo$|\.built$/.test(path));
takeAll('console', (path) => !path.endsWith('.ts'));
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const isPackage = (path) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path);
for (const [path, { dev }] of Object.entries(packages)) {
  if (!isPackage(path) || dev || DEVELOPMENT.test(path) || !existsSync(join(root, path))) continue;
  takeAll(path, (file) => !UNREAD.test(file));
}
