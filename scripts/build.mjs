// npm run build: install what is missing, compile what changed.
import { checkNode, ensureBuilt, ensureInstalled } from './steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
