// npm run lint: types, format, types-aware rules, import directions, dead code, the OpenAPI document.
import { join } from 'node:path';
import { checkNode, checkTypes, ensureInstalled, root, step } from './steps.mjs';

checkNode();
await ensureInstalled();
await checkTypes();
const bin = (name) => join(root, 'node_modules', '.bin', name);
await step('checking the format', bin('prettier'), [
  ...['--check', '--log-level', 'warn', '--cache', '--cache-strategy', 'content'],
  ...['--cache-location', join(root, 'node_modules', '.cache', 'prettier-of-lint')],
  '.',
]);
// Without a cache: what its rules say of a file depends on the types in others.
await step('linting with types', bin('eslint'), ['--max-warnings', '0', '.']);
await step('checking import directions', bin('depcruise'), [
  '--config',
  '.dependency-cruiser.cjs',
  'gateway',
  'search-core',
  'contracts-abi',
  'network',
]);
await step('looking for dead code', bin('knip'), ['--no-progress']);
await step('linting the OpenAPI document', process.execPath, [
  join(root, 'scripts', 'lint-openapi.mjs'),
]);
