import type { ResolveHook } from 'node:module';

const CHECKPOINT = new URL('../../gateway/money/ledger/checkpoint.js', import.meta.url).href;
const KILLING = new URL('./killing-checkpoint.js', import.meta.url).href;

/** Whoever imports the gateway's checkpoint gets the one that kills. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const resolved = await nextResolve(specifier, context);
  return resolved.url === CHECKPOINT ? { ...resolved, url: KILLING } : resolved;
};
