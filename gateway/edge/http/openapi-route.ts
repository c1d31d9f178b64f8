import type { RequestHandler } from 'express';
import { fixedText } from './encoding.js';
import { openApiText } from './openapi.js';

/** Seconds for which a copy of the document may be used without asking. */
const MAX_AGE_SECONDS = 300;

/** `GET /openapi.json`: the same bytes for everyone, readable by pages of any origin. */
export function openApiRoute(): RequestHandler {
  const text = fixedText(Buffer.from(openApiText()));
  return (_request, response) => {
    response.setHeader('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`);
    response.setHeader('Content-Type', 'application/json');
    text.send(response);
  };
}
