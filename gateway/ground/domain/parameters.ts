import type { z } from 'zod';
import { refuse, type Refusal } from './refusal.js';

/** Names in a refusal are cut to this many characters: a request must not choose our reply's size. */
const NAME_LENGTH_MAX = 64;
const NAMES_SHOWN_MAX = 5;

/**
 * Reads the parameters of a request by the closed schema that the OpenAPI document shows, defaults
 * filled in. An unsupported parameter wins over every other fault, as the specification orders.
 */
export function parseParameters<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
): { readonly kind: 'parameters'; readonly parameters: z.output<Schema> } | Refusal {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: 'parameters', parameters: parsed.data };
  const { issues } = parsed.error;
  const names = Object.keys(schema.shape);
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  if (unknown.length > 0) return refuseUnknown(unknown, names);
  const [first] = issues;
  if (!first || first.path.length === 0) {
    return refuse('invalid_parameter', `The body must be a JSON object with ${quoted(names[0])}.`);
  }
  const name = String(first.path[0]);
  const isMissing = first.code === 'invalid_type' && !(name in (value as object));
  const what = isMissing ? 'is required' : first.message;
  return refuse('invalid_parameter', `The parameter "${name}" ${what}.`);
}

function refuseUnknown(unknown: readonly string[], names: readonly string[]): Refusal {
  const shown = unknown.slice(0, NAMES_SHOWN_MAX).map(quoted);
  const noun = unknown.length === 1 ? 'parameter' : 'parameters';
  return refuse(
    'unsupported_parameter',
    `Unsupported ${noun}: ${shown.join(', ')}. ${known(names.map(quoted))}`,
  );
}

/** One sentence that lists what there is. */
function known(names: readonly string[]): string {
  const [last = ''] = names.slice(-1);
  if (names.length === 1) return `The only parameter is ${last}.`;
  return `The parameters are ${names.slice(0, -1).join(', ')} and ${last}.`;
}

function quoted(name = ''): string {
  return JSON.stringify(name.slice(0, NAME_LENGTH_MAX));
}
