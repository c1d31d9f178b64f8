// npm run openapi: writes docs/openapi.json, the committed copy of the served document.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
const { openApiText } = await import('../dist/gateway/http/openapi.js');
writeFileSync(join(root, 'docs', 'openapi.json'), openApiText());
