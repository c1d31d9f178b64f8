import express, { Router, type Request, type RequestHandler } from 'express';
import { DESCRIPTION_LENGTH, RESULTS } from '../../../../search-core/contract.js';
import type { AccountView, Accounts } from '../../../customers/accounts/manage.js';
import type { Caller } from '../../../customers/keys/caller.js';
import { unixMillis, type UsdcUnits } from '../../../ground/domain/units.js';
import type { Clock, Random } from '../../../ground/domain/ports.js';
import type { Search } from '../../../search/pipeline.js';
import { requestIdOf } from '../../http/request-id.js';
import { goneSignal } from '../../http/search-route.js';
import { numberOf, textOf } from '../form.js';
import { sameOrigin, secure, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { notice, sendPage, type Viewer } from '../page.js';
import { PLAYGROUND_PATH, replyView, searchForm, type Asked } from './view.js';

interface PlaygroundParts {
  readonly search: Search;
  readonly accounts: Pick<Accounts, 'read'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  readonly priceUnits: UsdcUnits;
  /** Where searches go, for the examples. */
  readonly publicUrl: string;
}

const FORM_BYTES_MAX = '16kb';
const QUERY_LENGTH_MAX = 1000;
const EXAMPLE: Asked = { query: 'postgres jsonb index', maxResults: 5, maxDescriptionLength: 1000 };

/**
 * The playground, to be mounted at `/console`: a search on the account of whoever is signed in, through
 * the same pipeline as with a key. A link to a query fills the form and runs nothing.
 */
export function playgroundPages(
  parts: PlaygroundParts,
  guard: Guard,
  saying: RequestHandler,
): Router {
  const { search, accounts, clock, random, priceUnits, publicUrl } = parts;
  const router = Router({ caseSensitive: true });
  router.use('/playground', secure, sameOrigin, saying);
  router.use('/playground', express.urlencoded({ extended: false, limit: FORM_BYTES_MAX }));

  const page = (viewer: Viewer, asked: Asked, once: string, found: Html) => ({
    title: 'Playground',
    viewer,
    path: PLAYGROUND_PATH,
    scripts: ['playground.js'] as const,
    body: html`${searchForm(asked, once, priceUnits)} ${found}
      <pre id="reply" tabindex="0" role="region" aria-label="Receipt" hidden></pre>`,
  });
  const nothingYet = html`<section id="results" aria-label="Reply"></section>`;

  router.get(
    '/playground',
    guard.signedIn((viewer, request, response) => {
      sendPage(response, page(viewer, linkedQuery(request), random.uuid(), nothingYet));
      return Promise.resolve();
    }),
  );
  router.post(
    '/playground',
    guard.signedIn(async (viewer, request, response) => {
      const account = await accounts.read(viewer.membership.accountId);
      if (!account) throw new Error('a membership without an account');
      const asked = askedIn(request);
      if (account.suspendedAt) {
        const why = notice('bad', `This account is suspended: ${account.suspendedReason ?? ''}`);
        sendPage(response, { ...page(viewer, asked, random.uuid(), why), status: 403 });
        return;
      }
      const once = textOf(request, 'once', 100) || random.uuid();
      const startedMs = clock.monotonicMs();
      const reply = await search({
        requestId: requestIdOf(response),
        face: 'gateway',
        credentials: { kind: 'account', caller: callerOf(viewer, account) },
        idempotencyKey: `playground:${once}`,
        body: asked,
        address: request.ip ?? 'unknown',
        signal: goneSignal(response),
      });
      const tookMs = clock.monotonicMs() - startedMs;
      const found = replyView(asked, reply, { tookMs, publicUrl });
      const status = reply.kind === 'refused' ? reply.refusal.status : 200;
      sendPage(response, { ...page(viewer, asked, once, found), status });
    }),
  );
  return router;
}

/** Who searches in the playground: the person, on the account, without a key. */
function callerOf({ session }: Viewer, account: AccountView): Caller {
  const { id, plan, ratePerSecond, planEndsAt } = account;
  return {
    account: {
      id,
      plan,
      ratePerSecond,
      ...(planEndsAt && { planEndsAt: unixMillis(planEndsAt.getTime()) }),
    },
    key: {
      id: `console:${session.person.id}`,
      name: 'Playground',
      createdBy: session.person.id,
      ratePerSecond: null,
      monthlyBudget: null,
      expiresAt: null,
    },
  };
}

/** What a form asks. Bounds are the pipeline's: it refuses in the words that programs get. */
function askedIn(request: Request): Asked {
  const numbered = (name: string, preset: number) =>
    numberOf(request, name, { min: 0, max: 1_000_000 }) ?? preset;
  return {
    query: textOf(request, 'query', QUERY_LENGTH_MAX),
    maxResults: numbered('maxResults', RESULTS.default),
    maxDescriptionLength: numbered('maxDescriptionLength', DESCRIPTION_LENGTH.default),
  };
}

/** What a permalink asks; an example where it asks for nothing. */
function linkedQuery({ query }: Request): Asked {
  const textIn = (name: string) => {
    const value = query[name];
    return typeof value === 'string' ? value.slice(0, QUERY_LENGTH_MAX) : '';
  };
  const numberIn = (name: string, { min, max }: { min: number; max: number }, preset: number) => {
    const value = Number(textIn(name) || preset);
    return Number.isInteger(value) && value >= min && value <= max ? value : preset;
  };
  return {
    query: textIn('q') || EXAMPLE.query,
    maxResults: numberIn('results', RESULTS, EXAMPLE.maxResults),
    maxDescriptionLength: numberIn('length', DESCRIPTION_LENGTH, EXAMPLE.maxDescriptionLength),
  };
}
