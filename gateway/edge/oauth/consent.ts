import { urlencoded, Router, type Request, type Response } from 'express';
import type Provider from 'oidc-provider';
import { errors } from './oidc-provider.js';
import { sendPage } from '../console/page.js';
import { describedAt, type Connections } from './connections.js';
import { consentPage, errorPage, PAGE_POLICY } from './pages.js';
import { CONSENT_PATH, SEARCH_SCOPE } from './provider.js';
import { subjectText, type Subject } from './subject.js';

/** The console's session, as the consent page needs it. */
export interface Login {
  /** The signed-in person of a request, with the accounts that they belong to, if there is one. */
  visitor(request: Request): Promise<LoggedIn | undefined>;
  /** Where to sign in, and come back to `path` afterwards. */
  signInUrl(path: string): string;
}

export interface LoggedIn {
  readonly person: { readonly id: string; readonly name: string; readonly email: string };
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
}

export interface ConsentParts {
  readonly provider: Provider;
  readonly connections: Connections;
  readonly login: Login;
  /** The origin at which people reach the console. */
  readonly issuer: string;
  /** What a client means that names no resource. */
  readonly defaultResource: string;
}

const FORM_BYTES_MAX = 4096;

/** The page between "connect" in a client and the token: who are you, and may it search? */
export function consentRoutes(parts: ConsentParts): Router {
  const router = Router();
  router.use(CONSENT_PATH, (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Referrer-Policy', 'same-origin');
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    next();
  });
  router.get(`${CONSENT_PATH}/:uid`, (request, response) => show(parts, request, response));
  router.post(
    `${CONSENT_PATH}/:uid`,
    urlencoded({ extended: false, limit: FORM_BYTES_MAX }),
    (request, response) => decide(parts, request, response),
  );
  return router;
}

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

/** The authorization request that this browser has begun and not finished. */
async function pendingRequest(
  { provider }: ConsentParts,
  request: Request,
  response: Response,
): Promise<Details | undefined> {
  try {
    const details = await provider.interactionDetails(request, response);
    return details.uid === request.params.uid ? details : undefined;
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

async function show(parts: ConsentParts, request: Request, response: Response): Promise<void> {
  const details = await pendingRequest(parts, request, response);
  if (!details) {
    sendPage(response, LAPSED);
    return;
  }
  const visitor = await parts.login.visitor(request);
  if (!visitor) {
    response.redirect(303, parts.login.signInUrl(`${CONSENT_PATH}/${details.uid}`));
    return;
  }
  if (visitor.accounts.length === 0) {
    response.redirect(303, '/console/start'); // nothing to charge yet: join or create an account
    return;
  }
  const clientId = String(details.params.client_id);
  const redirect = new URL(String(details.params.redirect_uri));
  const view = {
    ...visitor,
    clientName: await clientNameOf(parts, clientId),
    describedAt: describedAt(clientId),
    redirectHost: redirect.host || redirect.protocol,
  };
  sendPage(response, consentPage(view));
}

const NAME_LENGTH_MAX = 100;

/** What a client calls itself, fit to be shown; its id where it has no name or cannot be read. */
async function clientNameOf({ provider }: ConsentParts, clientId: string): Promise<string> {
  const client = await provider.Client.find(clientId).catch((error: unknown) => {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  });
  const name = (client?.clientName ?? '').replace(/\p{C}/gu, ' ').trim();
  return (name || clientId).slice(0, NAME_LENGTH_MAX);
}

async function decide(parts: ConsentParts, request: Request, response: Response): Promise<void> {
  const { origin } = request.headers;
  if (origin !== undefined && origin !== new URL(parts.issuer).origin) {
    sendPage(response, { ...LAPSED, status: 403 });
    return;
  }
  const details = await pendingRequest(parts, request, response);
  const visitor = await parts.login.visitor(request);
  if (!details || !visitor) {
    sendPage(response, LAPSED);
    return;
  }
  const form = (request.body ?? {}) as Readonly<Record<string, unknown>>;
  const account = visitor.accounts.find(({ id }) => id === form.account);
  if (form.decision !== 'allow' || !account) {
    const denied = { error: 'access_denied', error_description: 'The user declined.' };
    await parts.provider.interactionFinished(request, response, denied);
    return;
  }
  const subject = { personId: visitor.person.id, accountId: account.id };
  const grantId = await grant(parts, details, subject);
  const login = { accountId: subjectText(subject), remember: false };
  await parts.provider.interactionFinished(request, response, { login, consent: { grantId } });
}

/** Grants the one scope for the resources that were asked for, or else for the one by default. */
async function grant(parts: ConsentParts, { params }: Details, subject: Subject): Promise<string> {
  const clientId = String(params.client_id);
  const { resource = parts.defaultResource } = params;
  const asked: unknown[] = Array.isArray(resource) ? resource : [resource];
  const resources = asked.filter((one) => typeof one === 'string');
  const given = new parts.provider.Grant({ accountId: subjectText(subject), clientId });
  for (const one of resources) given.addResourceScope(one, SEARCH_SCOPE);
  given.addOIDCScope(`${SEARCH_SCOPE} offline_access`);
  const grantId = await given.save();
  const clientName = await clientNameOf(parts, clientId);
  const scope = SEARCH_SCOPE;
  await parts.connections.add({ grantId, subject, clientId, clientName, scope, resources });
  return grantId;
}

const LAPSED = errorPage(
  'request_lapsed',
  'This connection request expired, was already answered, or came from another browser.',
);
