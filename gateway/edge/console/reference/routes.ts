import { Router, type RequestHandler } from 'express';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../../http/openapi.js';
import type { ReferenceDocument } from './document.js';
import { referencePage } from './page.js';

/** Nothing from elsewhere, nothing inline, requests to this server only (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const MAX_AGE_SECONDS = 300;

const scripts = fileURLToPath(new URL('../../../../console', import.meta.url));
const sources = join(scripts, '../../console');
const ASSETS = [
  join(sources, 'console.css'),
  join(sources, 'reference.css'),
  join(sources, 'icon.svg'),
  join(scripts, 'reference.js'),
  join(scripts, 'reference-calls.js'),
];

/** `GET /docs`: the OpenAPI document for people, to be tried out, from this server alone. */
export function referenceRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const page = referencePage(openApiDocument() as unknown as ReferenceDocument);
  router.use('/docs', guard);
  router.get('/docs', (_request, response) => {
    response.type('html').send(page);
  });
  for (const file of ASSETS) {
    const name = file.slice(file.lastIndexOf('/') + 1);
    router.get(`/docs/${name}`, (_request, response) => {
      response.sendFile(file, { cacheControl: false, dotfiles: 'allow' });
    });
  }
  return router;
}

const guard: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`);
  next();
};
