// node scripts/lint-openapi.mjs [FILE]: the rules of Redocly's "recommended" set, without exceptions, on
// the committed document. A warning fails as an error does.
import { join } from 'node:path';
import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core';
import { root } from './steps.mjs';

const ref = process.argv[2] ?? join(root, 'docs', 'openapi.json');
const config = await createConfig({ extends: ['recommended'] });
const problems = await lint({ ref, config });
if (problems.length > 0) {
  formatProblems(problems, { format: 'stylish', totals: getTotals(problems), version: '' });
  process.exit(1);
}
