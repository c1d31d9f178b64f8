// npm run compile-token: compiles contracts-abi/src with the pinned solc and writes
// contracts-abi/artifacts. A test compares the committed files with a fresh compilation.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifactFile, compileContracts, multicall3, SOURCES } from '../contracts-abi/compile.js';

const folder = join(process.cwd(), 'contracts-abi');
const compiled = SOURCES.flatMap(([source, contracts]) =>
  compileContracts(source, readFileSync(join(folder, 'src', source), 'utf8'), contracts),
);
for (const artifact of [...compiled, multicall3()]) {
  const file = join(folder, 'artifacts', `${artifact.contract}.ts`);
  writeFileSync(file, artifactFile(artifact));
  const bytes = artifact.runtimeCode.length / 2 - 1;
  console.log(`${artifact.contract}: ${bytes} bytes of runtime code → ${file}`);
}
