/** What `docs/openapi.json` promises, held against what was really answered. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

interface Header {
  readonly required?: boolean;
  readonly schema: { readonly type: string };
}
interface Reply {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Reply>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly headers: Readonly<Record<string, Header>> };
}

/** One answer of the service, as it went out. */
export interface Exchange {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** `operation`: what was asked, such as `search 200`; `faults`: how the answer breaks its promise. */
interface Judgement {
  readonly operation: string;
  readonly faults: readonly string[];
}

const file = new URL('../../../docs/openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(file, 'utf8')) as Document;
const ajv = new Ajv2020({ allErrors: true, strict: false });
formats.default(ajv);
ajv.addSchema(document, 'document');

const segmentOf = (path: string) => path.split('/')[1] ?? '';
const segments = new Set(Object.keys(document.paths).map(segmentOf));

/** Every operation with the statuses that it may answer with, such as `search 200`. */
export const documentedReplies: readonly string[] = Object.values(document.paths).flatMap((path) =>
  Object.values(path).flatMap(({ operationId, responses }) =>
    Object.keys(responses).map((status) => `${operationId} ${status}`),
  ),
);

/** The path of the document that a path is of, those with an id or a nonce included. */
function documentedPath(path: string): Readonly<Record<string, Operation>> | undefined {
  const template = path
    .replace(/\/0x[0-9a-fA-F]{64}(?=\/|$)/, '/{nonce}')
    .replace(/\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '/{id}');
  return document.paths[template];
}

/** Judges one answer; undefined where the document says nothing of such a path (the console…). */
export function judge(exchange: Exchange): Judgement | undefined {
  const { path, status, method } = exchange;
  const methods = documentedPath(path);
  if (!methods) {
    const isListed = segments.has(segmentOf(path)) || isInterface404(exchange);
    return isListed
      ? { operation: `nothing ${status}`, faults: refusal(exchange, 404) }
      : undefined;
  }
  const operation = methods[method === 'HEAD' ? 'get' : method.toLowerCase()];
  if (operation) {
    const reply = operation.responses[String(status)];
    const faults = reply ? faultsOf(exchange, reply) : [`${status} is not documented`];
    return { operation: `${operation.operationId} ${status}`, faults };
  }
  if (method === 'OPTIONS' && status === 204) return { operation: 'preflight 204', faults: [] };
  const [only] = Object.values(methods);
  const documented = only?.responses['405'];
  if (documented && status === 405) {
    return { operation: `${only.operationId} 405`, faults: faultsOf(exchange, documented) };
  }
  return { operation: `another method ${status}`, faults: refusal(exchange, 404) };
}

/** A 404 in JSON is the interface's own wherever it comes up, but where another protocol is spoken. */
function isInterface404({ path, status, headers }: Exchange): boolean {
  return status === 404 && path !== '/mcp' && mediaType(headers) === 'application/json';
}

/** What is not listed must be refused with this status, in the form of every refusal. */
function refusal(exchange: Exchange, status: number): string[] {
  if (exchange.status !== status) return [`${exchange.status}, where nothing is documented`];
  const schema = { $ref: '#/components/schemas/ErrorResponse' };
  return faultsOf(exchange, { content: { 'application/json': { schema } } });
}

function faultsOf({ method, headers, body }: Exchange, reply: Reply): string[] {
  const faults = headerFaults(headers, reply.headers ?? {});
  if (method === 'HEAD') return faults;
  const type = mediaType(headers);
  const content = reply.content?.[type];
  if (!content) return [...faults, `the media type "${type}" is not documented`];
  if (type !== 'application/json') return faults;
  try {
    const fault = valueFault(content.schema, JSON.parse(body.toString('utf8')));
    return fault === undefined ? faults : [...faults, `body: ${fault}`];
  } catch {
    return [...faults, 'the body is not JSON'];
  }
}

function mediaType(headers: Exchange['headers']): string {
  return headers['content-type']?.split(';')[0]?.trim() ?? '';
}

/** Required ones are there; those that are there are documented for this reply, and well-formed. */
function headerFaults(
  headers: Exchange['headers'],
  documented: NonNullable<Reply['headers']>,
): string[] {
  return Object.entries(document.components.headers).flatMap(([name, { required, schema }]) => {
    const value = headers[name.toLowerCase()];
    const isDocumented = name in documented;
    if (value === undefined) return isDocumented && required ? [`${name} is missing`] : [];
    if (!isDocumented) return name === 'X-Request-Id' ? [] : [`${name} is not documented here`];
    const fault = valueFault(schema, schema.type === 'integer' ? Number(value) : value);
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });
}

/** References of the document are resolved inside of it. */
function valueFault(schema: object, value: unknown): string | undefined {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
  return compiled(text)(value) ? undefined : ajv.errorsText(compiled(text).errors);
}

const validators = new Map<string, ReturnType<typeof ajv.compile>>();
function compiled(schema: string): ReturnType<typeof ajv.compile> {
  const known = validators.get(schema);
  if (known) return known;
  const made = ajv.compile(JSON.parse(schema) as object);
  validators.set(schema, made);
  return made;
}
