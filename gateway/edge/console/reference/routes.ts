import { Router, type RequestHandler } from 'express';
import { fixedText } from '../../http/encoding.js';
import { openApiDocument } from '../../http/openapi.js';
import { assetRoutes } from '../assets.js';
import type { ReferenceDocument } from './document.js';
import { referencePage } from './page.js';

/** Nothing from elsewhere, nothing inline, requests to this server only (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const MAX_AGE_SECONDS = 300;

/** `GET /docs`: the OpenAPI document for people, to be tried out, from this server alone. */
export function referenceRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const page = fixedText(
    Buffer.from(referencePage(openApiDocument() as unknown as ReferenceDocument)),
  );
  router.use(assetRoutes());
  router.use('/docs', guard);
  router.get('/docs', (_request, response) => {
    response.type('html');
    page.send(response);
  });
  return router;
}

const guard: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`);
  next();
};
