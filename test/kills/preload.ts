/**
 * `node --import preload.js gateway/main.js`: the gateway as it is, with a checkpoint that kills.
 * The gateway itself has no switch for this; the module of the checkpoint is exchanged on its way in.
 */
import { register } from 'node:module';

register('./redirect.js', import.meta.url);
