import type { Router } from 'express';

interface Layer {
  /** Whether it is mounted at `/`. */
  readonly slash?: boolean;
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/**
 * Every route that a router has, with those of the routers that it mounts, as `GET /path`; what
 * answers any method is left out. Express keeps no text of where a router is mounted, so the only
 * such place has to be told.
 */
export function routesOf(router: Router, mountedAt: string): readonly string[] {
  return walk((router as unknown as { stack: readonly Layer[] }).stack, '', mountedAt);
}

function walk(stack: readonly Layer[], prefix: string, mountedAt: string): string[] {
  return stack.flatMap(({ route, handle, slash }) => {
    if (route) {
      const methods = Object.keys(route.methods).filter((method) => method !== '_all');
      return methods.map((method) => `${method.toUpperCase()} ${prefix}${route.path}`);
    }
    if (!handle.stack) return [];
    return walk(handle.stack, slash === true ? prefix : mountedAt, mountedAt);
  });
}
