/** The parts of the OpenAPI document that its page for people shows. */
export interface ReferenceDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  /** Where it is empty, no key is asked for. */
  readonly security?: readonly object[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Reply>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly deprecated?: boolean;
  readonly schema: Schema;
}

interface Reply {
  readonly description: string;
  readonly headers: object;
  readonly content: Content;
}

type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly examples?: Readonly<Record<string, unknown>> }>
>;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: string | number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** One thing that a caller fills in: a parameter, or a member of the body. */
export interface Input {
  readonly name: string;
  readonly in: 'query' | 'header' | 'body';
  readonly isRequired: boolean;
  readonly isDeprecated: boolean;
  readonly description: string;
  readonly schema: Schema;
}

/** All that an operation takes, the body's members first. */
export function inputsOf(operation: Operation, document: ReferenceDocument): readonly Input[] {
  const { components } = document;
  const body = operation.requestBody?.content['application/json']?.schema.$ref;
  const { properties = {}, required = [] } = components.schemas[nameOf(body)] ?? {};
  const members = Object.entries(properties).map(([name, schema]): Input => {
    const { description = '' } = schema;
    const isRequired = required.includes(name);
    return { name, in: 'body', isRequired, isDeprecated: false, description, schema };
  });
  const parameters = (operation.parameters ?? []).flatMap((given): readonly Input[] => {
    const parameter = '$ref' in given ? components.parameters[nameOf(given.$ref)] : given;
    const isDeprecated = parameter?.deprecated === true;
    return parameter ? [{ ...parameter, isRequired: false, isDeprecated }] : [];
  });
  return [...members, ...parameters];
}

/** The last word of a reference: `#/components/schemas/Account` is `Account`. */
function nameOf(reference = ''): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
