// npm run openapi: writes docs/openapi.json, the committed copy of the served document.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkNode, ensureBuilt, ensureInstalled, root } from './steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
const program = pathToFileURL(join(root, 'dist', 'gateway', 'edge', 'http', 'openapi.js'));
const { openApiText } = await import(program.href);
writeFileSync(join(root, 'docs', 'openapi.json'), openApiText());
