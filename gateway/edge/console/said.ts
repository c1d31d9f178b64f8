import type { RequestHandler, Response } from 'express';
import type { Clock } from '../../ground/domain/ports.js';
import { StoreUnusable } from '../../ground/store/store.js';
import type { Sealing } from '../../ground/store/sealing.js';
import { cookieOf } from './cookies.js';

/**
 * What the next page says about the action that led to it. It travels sealed in a cookie of one
 * minute, so that reloading repeats nothing and no gateway has to remember it.
 */
export interface Said {
  readonly kind: 'good' | 'bad';
  readonly text: string;
  /** A key that was just made: its only way to a person. Never put it into an address or a log. */
  readonly key?: string;
}

const COOKIE = 'search402_said';
const SEALED_FOR = 'console-said';
const LIFETIME_MS = 60_000;

interface Saying {
  keep(sessionId: string, path: string, said: Said): void;
  take(sessionId: string): Said | undefined;
}

const sayings = new WeakMap<Response, Saying>();

/** Lets the pages behind it say what happened before: see `sayAndGo` and `takeSaid`. */
export function sayingRoutes(
  sealing: Sealing,
  clock: Clock,
  { isHttps }: { isHttps: boolean },
): RequestHandler {
  const options = { httpOnly: true, sameSite: 'lax', secure: isHttps } as const;
  return (request, response, next) => {
    let taken: Said | undefined;
    sayings.set(response, {
      keep(sessionId, path, said) {
        const sealed = sealing.seal(
          SEALED_FOR,
          JSON.stringify({ sessionId, path, at: clock.now(), said }),
        );
        // Only the page that it is for is told: another tab does not take it away.
        response.cookie(COOKIE, sealed, { ...options, path, maxAge: LIFETIME_MS });
      },
      take(sessionId) {
        const sealed = cookieOf(request, COOKIE);
        const isForPerson =
          request.method === 'GET' && request.headers['sec-purpose'] === undefined;
        if (taken !== undefined || sealed === undefined || !isForPerson) return taken;
        const kept = opened(sealing, sealed);
        if (kept === undefined) return undefined;
        response.clearCookie(COOKIE, { ...options, path: kept.path });
        const isFresh = clock.now() - kept.at < LIFETIME_MS;
        taken = kept.sessionId === sessionId && isFresh ? kept.said : undefined;
        return taken;
      },
    });
    next();
  };
}

interface Kept {
  readonly sessionId: string;
  readonly path: string;
  readonly at: number;
  readonly said: Said;
}

/** What was sealed; nothing where it was tampered with. */
function opened(sealing: Sealing, sealed: string): Kept | undefined {
  try {
    // Only `keep` seals under this name.
    return JSON.parse(sealing.open(SEALED_FOR, sealed)) as Kept;
  } catch (error) {
    if (error instanceof StoreUnusable) return undefined;
    throw error;
  }
}

type Speaker = { readonly session: { readonly sessionId: string } } | undefined;

/** Ends an action: leads to a page that says once what happened, to this session alone. */
export function sayAndGo(response: Response, viewer: Speaker, to: string, said: Said): void {
  sayings.get(response)?.keep(viewer?.session.sessionId ?? '', to, said);
  response.redirect(303, to);
}

/** What the action before said, if it said something: shown by this page and by no other. */
export function takeSaid(response: Response, viewer: Speaker): Said | undefined {
  return sayings.get(response)?.take(viewer?.session.sessionId ?? '');
}
