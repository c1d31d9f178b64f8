import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';
import { openApiDocument } from './openapi.js';
import type { Json } from './openapi-schemas.js';

/** The part of the document that the page shows of an operation. */
interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly requestBody?: { readonly content: Json };
  readonly responses: Readonly<Record<string, Reply>>;
}

interface Reply {
  readonly description: string;
  readonly headers: Json;
}

const STYLE = [
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}',
  'table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.25rem .75rem}',
  'tr{border-top:1px solid #ccc}pre{overflow:auto;background:#f4f4f4;color:#111;padding:1rem}',
].join('\n');

/** Nothing but the page's own style may load (CSP Level 3). */
const POLICY =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `GET /docs`: the OpenAPI document for people, from this server alone. */
export function referenceRoute(): RequestHandler {
  const page = referencePage();
  return (_request, response) => {
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('Cache-Control', 'public, max-age=300');
    response.type('text/html; charset=utf-8').send(page);
  };
}

function referencePage(): string {
  const { info, paths, components } = openApiDocument() as {
    info: { title: string; version: string; description: string };
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Json };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => showOperation(method, path, operation)),
  );
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `<h3 id="${escape(name)}">${escape(name)}</h3>${showJson(schema)}`,
  );
  const title = `${escape(info.title)} ${escape(info.version)}`;
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>` +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    `<style>${STYLE}</style></head><body><h1>${title}</h1>${paragraph(info.description)}` +
    '<p>For programs: <a href="/openapi.json">/openapi.json</a></p>' +
    `${operations.join('')}<h2>Schemas</h2>${schemas.join('')}</body></html>`
  );
}

function showOperation(method: string, path: string, operation: Operation): string {
  const { summary, description, requestBody, responses } = operation;
  const rows = Object.entries(responses).map(([status, reply]) => {
    const cells = [status, reply.description, Object.keys(reply.headers).join(', ')];
    return `<tr>${cells.map((cell) => `<td>${escape(cell)}</td>`).join('')}</tr>`;
  });
  return (
    `<h2><code>${escape(method.toUpperCase())} ${escape(path)}</code></h2>${paragraph(summary)}` +
    (description === undefined ? '' : paragraph(description)) +
    (requestBody ? `<h3>Body</h3>${showJson(requestBody.content)}` : '') +
    `<table><tr><th>Status</th><th>Meaning</th><th>Headers</th></tr>${rows.join('')}</table>`
  );
}

function paragraph(text: string): string {
  return `<p>${escape(text)}</p>`;
}

function showJson(value: unknown): string {
  return `<pre>${escape(JSON.stringify(value, null, 2))}</pre>`;
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
