// npm run build: install what is missing, check the types, compile what changed.
import { checkNode, checkTypes, ensureBuilt, ensureInstalled } from './steps.mjs';

checkNode();
await ensureInstalled();
await checkTypes();
await ensureBuilt();
