/** What a challenge says about the call that it sells, so that indexes can list and try it. */

type Json = Readonly<Record<string, unknown>>;

/** A call with a JSON body, by example and by schema (JSON Schema 2020-12). */
export interface Discovery {
  readonly input: Json;
  readonly inputSchema: Json;
  readonly output: Json;
  readonly outputSchema: Json;
}

/** The name of the extension in `extensions` (x402 extension `bazaar`). */
export const BAZAAR = 'bazaar';

/** The extension's value: an example of the call, and the schema that the example follows. */
export function bazaarDeclaration(discovery: Discovery): Json {
  const { input, inputSchema, output, outputSchema } = discovery;
  const call = { type: 'http', method: 'POST', bodyType: 'json' };
  return {
    info: { input: { ...call, body: input }, output: { type: 'json', example: output } },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            ...Object.fromEntries(
              Object.entries(call).map(([name, value]) => [name, { const: value }]),
            ),
            body: inputSchema,
          },
          required: [...Object.keys(call), 'body'],
          additionalProperties: false,
        },
        output: {
          type: 'object',
          properties: { type: { const: 'json' }, example: outputSchema },
          required: ['type'],
        },
      },
      required: ['input'],
    },
  };
}

/** The same as `outputSchema` of version 1's requirements. */
export function outputSchemaV1({ inputSchema, outputSchema }: Discovery): Json {
  return {
    input: {
      ...{ type: 'http', method: 'POST', discoverable: true, bodyType: 'json' },
      bodyFields: inputSchema.properties,
    },
    output: outputSchema,
  };
}
