/**
 * node scripts/transpile.mjs FOLDER…: compiles every source below these folders to the place where
 * `tsc` would put it, without checking a type. It is all that a start needs, and takes a second;
 * `npm test` and `npm run build` check the types.
 */
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { files, root } from './steps.mjs';

const sources = process.argv
  .slice(2)
  .flatMap((folder) => [...files(join(root, folder), (name) => /(?<!\.d)\.ts$/.test(name))]);
const isForBrowsers = (file) => relative(root, file).split(/[/\\]/)[0] === 'console';

// tsc skips what its own notes call up to date: without them it writes everything anew.
for (const notes of ['.tsbuildinfo', join('console', '.tsbuildinfo')]) {
  rmSync(join(root, 'dist', notes), { force: true });
}
const common = {
  absWorkingDir: root,
  outbase: root,
  outdir: join(root, 'dist'),
  format: 'esm',
  target: 'es2023',
  charset: 'utf8',
  // The settings of tsconfig.json that change what comes out.
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } },
  logLevel: 'error',
};
await build({
  ...common,
  entryPoints: sources.filter((file) => !isForBrowsers(file)),
  platform: 'node',
  sourcemap: true,
});
await build({ ...common, entryPoints: sources.filter(isForBrowsers), platform: 'browser' });
