/** What several operations of the OpenAPI document share: references, bodies, rate headers. */
import { headers } from './openapi-replies.js';
import type { Json } from './openapi-schemas.js';

/** A parameter of the components. */
export const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

/** A JSON body by the name of its schema. */
export function json(name: string): Json {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

/** The body that a request must have. */
export function body(name: string): Json {
  return { required: true, content: json(name) };
}

/** The headers of a reply to whom requests are counted. */
export const rated = () => headers('RateLimit', 'RateLimit-Policy');
