/**
 * node scripts/transpile.mjs FOLDER…: compiles every source below these folders into dist/, without
 * checking a type. `npm run build` and `npm run lint` check the types.
 */
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { files, root } from './steps.mjs';

const sources = process.argv
  .slice(2)
  .flatMap((folder) => [...files(join(root, folder), (name) => /(?<!\.d)\.ts$/.test(name))]);
const isForBrowsers = (file) => relative(root, file).split(/[/\\]/)[0] === 'console';

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
