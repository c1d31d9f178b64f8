import { VERSION } from './version.js';

/** What a JavaScript runtime tells of itself. */
interface Host {
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly navigator?: { readonly userAgent?: string };
}

/**
 * Name and version of this package, and of what it runs on. Undefined in browsers: they send a
 * name of their own, and a changed one would cost each search a preflight.
 */
export function userAgent(host: Host = globalThis): string | undefined {
  const name = host.navigator?.userAgent;
  if (name?.startsWith('Mozilla/') === true) return undefined;
  const node = host.process?.versions?.node;
  const own = node === undefined ? name : `Node.js/${node}`;
  const runtime = name === undefined || name.startsWith('Node.js') ? own : name;
  return `search402-js/${VERSION}${runtime === undefined ? '' : ` (${runtime})`}`;
}
