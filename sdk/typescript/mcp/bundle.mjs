// node mcp/bundle.mjs [FILE]: makes search402.mcpb, for hosts that install programs from a file.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { zip } from './zip.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { outputFiles } = await build({
  ...{ entryPoints: [here('../src/cli/main.ts')], tsconfig: here('../tsconfig.json') },
  ...{
    bundle: true,
    minify: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  },
});
const archive = zip({
  'manifest.json': readFileSync(here('manifest.json')),
  'server/index.mjs': Buffer.from(outputFiles[0].contents),
  LICENSE: readFileSync(here('../LICENSE')),
});
const file = process.argv[2] ?? here('../dist/search402.mcpb');
writeFileSync(file, archive);
console.error(`${file}: ${archive.length} bytes`);
