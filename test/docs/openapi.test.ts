import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { REFUSALS } from '../../gateway/ground/domain/refusal.js';
import { openApiDocument, openApiText } from '../../gateway/edge/http/openapi.js';
import { queryWords } from '../../search-core/contract.js';
import { expectRefusal } from '../support/errors.js';
import { signPayment } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';

interface Reply {
  readonly content: Record<string, { readonly schema: object; readonly examples?: Examples }>;
}
type Examples = Record<string, { readonly value: unknown }>;
interface Operation {
  readonly operationId: string;
  readonly responses: Record<string, Reply>;
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, { readonly properties: Record<string, object> }>;
  };
}

const document = JSON.parse(openApiText()) as Document;

const ajv = new Ajv2020({ allErrors: true, strict: false });
formats.default(ajv);
ajv.addSchema(document, 'document');

/** Pointers into the document are resolved inside of it. */
function check(schema: object, value: unknown): string {
  const resolved = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
  const isValid = ajv.validate(JSON.parse(resolved) as object, value);
  return isValid ? 'valid' : ajv.errorsText();
}

function operation(path: string, method: string): Operation {
  const found = document.paths[path]?.[method];
  if (!found) throw new Error(`${method} ${path} is not documented`);
  return found;
}

const search = () => operation('/search', 'post');
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test('the committed document is the one that is built', () => {
  const committed = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
  expect(committed).toBe(openApiText());
});

test('the document is valid OpenAPI 3.1 of interface version 2.0.0', async () => {
  const validator = new Validator();
  expect(await validator.validate({ ...openApiDocument() })).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
  expect(document.info.version).toBe('2.0.0');
  expect(search().operationId).toBe('search');
});

test('every object of a body is closed', () => {
  const open: string[] = [];
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return;
    if ('type' in value && value.type === 'object') {
      if (!('additionalProperties' in value) || value.additionalProperties !== false) {
        open.push(path);
      }
    }
    for (const [name, part] of Object.entries(value)) visit(part, `${path}/${name}`);
  };
  visit(document.components.schemas, 'schemas');
  expect(open).toEqual([]);
});

test('a search documents every refusal but that of another path, at its status, and no other', () => {
  const documented = Object.entries(search().responses)
    .filter(([status]) => status !== '200')
    .flatMap(([status, reply]) =>
      Object.keys(reply.content['application/json']?.examples ?? {}).map((code) => [code, status]),
    );
  const real = Object.entries(REFUSALS)
    .filter(([code]) => code !== 'not_found' && code !== 'wallet_sign_in_required')
    .map(([code, { status }]) => [code, String(status)]);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(real));
});

test('every example is valid against the schema beside it', () => {
  const faults = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content }) =>
      Object.values(content).flatMap(({ schema, examples = {} }) =>
        Object.values(examples).map(({ value }) => check(schema, value)),
      ),
    ),
  );
  expect(faults.length).toBeGreaterThan(Object.keys(REFUSALS).length);
  expect(new Set(faults)).toEqual(new Set(['valid']));
});

test('the pattern of a query counts words as the service does', () => {
  const schema = document.components.schemas.SearchRequest?.properties.query ?? {};
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' \t\n');
  for (const query of ['', ' ', 'a', ' a  b ', words(50), ` ${words(50)} `, words(51)]) {
    const count = queryWords(query).length;
    expect([query, check(schema, query) === 'valid']).toEqual([query, count >= 1 && count <= 50]);
  }
});

/** That bodies, statuses and headers are as documented is checked around every test. */
describe('a running service', () => {
  let service: TestService;
  let authorization: string;
  beforeAll(async () => {
    service = await startTestService();
    authorization = `Bearer ${service.dev.apiKey}`;
  });
  afterAll(() => service.stop());

  test('both faces serve the built document to pages of any origin', async () => {
    for (const url of [service.gatewayUrl, service.apiUrl]) {
      const response = await fetch(`${url}/openapi.json`);
      expect(await response.text()).toBe(openApiText());
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    }
  });

  test('a search with a key answers as documented, with its rate', async () => {
    const response = await service.search({ query: 'lighthouse' }, { authorization });
    expect(response.status).toBe(200);
    expect(response.headers.has('ratelimit')).toBe(true);
    expect(response.headers.has('ratelimit-policy')).toBe(true);
  });

  test('a paid search answers as documented, with its receipt', async () => {
    const body = { query: 'sourdough bread' };
    const payment = await signPayment(service, body);
    const response = await service.search(body, { 'payment-signature': payment });
    expect(response.status).toBe(200);
    expect(response.headers.has('payment-response')).toBe(true);
  });

  const post = (headers: Record<string, string>, body: string) => (url: string) =>
    fetch(`${url}/search`, { method: 'POST', headers, body });
  const type = { 'content-type': 'application/json' };
  const refused: {
    code: keyof typeof REFUSALS;
    send: (url: string) => Promise<Response>;
    header?: string;
  }[] = [
    { code: 'malformed_request', send: post(type, '{') },
    {
      code: 'invalid_api_key',
      send: post({ ...type, authorization: 'Bearer nobody' }, '{"query":"a"}'),
    },
    { code: 'payment_required', send: post(type, '{"query":"a"}'), header: 'payment-required' },
    { code: 'not_found', send: (url) => fetch(`${url}/nowhere`) },
    { code: 'method_not_allowed', send: (url) => fetch(`${url}/search`), header: 'allow' },
    { code: 'payload_too_large', send: post(type, JSON.stringify({ query: 'a'.repeat(20_000) })) },
    {
      code: 'unsupported_media_type',
      send: post({ 'content-type': 'text/plain' }, '{"query":"a"}'),
    },
    { code: 'unsupported_parameter', send: post(type, '{"prompt":"a"}') },
    { code: 'invalid_parameter', send: post(type, '{"query":1}') },
  ];
  test.each(refused)('$code is answered as documented', async ({ code, send, header }) => {
    const response = await send(service.gatewayUrl);
    await expectRefusal(response, code);
    if (header !== undefined) expect(response.headers.has(header)).toBe(true);
  });

  test('the face that takes keys only answers a missing key as documented', async () => {
    const response = await service.search({ query: 'a' }, {}, { url: service.apiUrl });
    await expectRefusal(response, 'missing_api_key');
    expect(response.headers.has('www-authenticate')).toBe(true);
  });

  test('the account, its usage and its quote for credits answer as documented', async () => {
    const get = (path: string) => fetch(`${service.apiUrl}${path}`, { headers: { authorization } });
    for (const path of ['/account', '/account/usage', '/livez', '/readyz', '/readyz/payments']) {
      expect((await get(path)).status).toBe(200);
    }
    await expectRefusal(await get('/account/usage?by=colour'), 'invalid_parameter');
    await expectRefusal(await get('/account/usage?colour=red'), 'unsupported_parameter');
    const quote = await fetch(`${service.apiUrl}/account/credits`, {
      method: 'POST',
      headers: { ...type, authorization },
      body: '{"amountUsd":"1"}',
    });
    await expectRefusal(quote, 'payment_required');
    expect(quote.headers.has('payment-required')).toBe(true);
  });
});
