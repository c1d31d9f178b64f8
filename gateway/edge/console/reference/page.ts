import { html, type Html } from '../html.js';
import { table } from '../page.js';
import {
  inputsOf,
  type Input,
  type Operation,
  type ReferenceDocument,
  type Schema,
} from './document.js';
import { docPage } from './frame.js';
import { keyField, tryForm } from './try-form.js';

/** The whole reference as one page: what there is, and a form for each to try it with. */
export function referencePage(document: ReferenceDocument): string {
  const { info, tags, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return docPage({
    path: '/docs/api',
    title: `API reference ${info.version}`,
    scripts: ['reference.js'],
    contents: [
      ...operations.map(({ method, path, operation }) => ({
        id: operation.operationId,
        name: `${method.toUpperCase()} ${path}`,
      })),
      { id: 'headers', name: 'Headers' },
      { id: 'schemas', name: 'Schemas' },
    ],
    body: html` ${prose(info.description)} ${keyField()}
      ${tags.map(
        ({ name, description }) =>
          html`<h2 class="tag">${description}</h2>
            ${operations
              .filter(({ operation }) => operation.tags.includes(name))
              .map(({ path, method, operation }) =>
                showOperation(method, path, operation, inputsOf(operation, document)),
              )}`,
      )}
      <h2 id="headers">Headers</h2>
      ${table(
        'Response headers',
        ['Header', 'Meaning'],
        Object.entries(components.headers).map(([name, { description }]) => [
          html`<code>${name}</code>`,
          prose(description),
        ]),
        '',
      )}
      <h2 id="schemas">Schemas</h2>
      ${Object.entries(components.schemas).map(
        ([name, schema]) =>
          html`<details id="${name}">
            <summary><code>${name}</code></summary>
            ${showJson(schema)}
          </details>`,
      )}`,
  });
}

function showOperation(
  method: string,
  path: string,
  operation: Operation,
  inputs: readonly Input[],
): Html {
  const { operationId, summary, description, responses } = operation;
  const replies = Object.entries(responses);
  return html`<section id="${operationId}" class="operation" aria-labelledby="${operationId}-title">
    <h3 id="${operationId}-title"><code>${method.toUpperCase()} ${path}</code></h3>
    <p>${summary}.</p>
    ${description === undefined ? '' : prose(description)}
    ${
      inputs.length === 0
        ? ''
        : table(
            `What ${method.toUpperCase()} ${path} takes`,
            ['Name', 'In', 'Bounds', 'Meaning'],
            inputs.map((input) => [
              html`<code>${input.name}</code>`,
              input.in,
              boundsOf(input),
              prose(input.description),
            ]),
            '',
          )
    }
    ${table(
      `Responses of ${method.toUpperCase()} ${path}`,
      ['Status', 'Meaning', 'Headers'],
      replies.map(([status, reply]) => [
        html`<code>${status}</code>`,
        prose(reply.description),
        Object.keys(reply.headers).join(', '),
      ]),
      '',
    )}
    <details>
      <summary>Example errors</summary>
      ${replies.map(([, { content }]) => {
        const { examples } = content['application/json'] ?? {};
        return examples === undefined ? '' : showJson(Object.values(examples).map(valueOf));
      })}
    </details>
    ${tryForm(
      method,
      path,
      operation,
      inputs.filter(({ isDeprecated }) => !isDeprecated),
    )}
  </section>`;
}

const valueOf = (example: unknown): unknown => (example as { value: unknown }).value;

function boundsOf({ isRequired, isDeprecated, schema }: Input): string {
  const { minimum, maximum, default: preset, enum: names } = schema;
  const parts = [
    isRequired ? 'required' : 'optional',
    ...(isDeprecated ? ['deprecated'] : []),
    schemaType(schema),
    ...(minimum === undefined || maximum === undefined ? [] : [`${minimum} to ${maximum}`]),
    ...(names === undefined ? [] : [names.join(', ')]),
    ...(preset === undefined ? [] : [`default ${preset}`]),
  ];
  return parts.join('; ');
}

function schemaType({ type = 'string' }: Schema): string {
  return type;
}

/** Text of the document: words in backticks are code. */
function prose(text: string): Html {
  const parts = text.split('`');
  return html`<p>
    ${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}
  </p>`;
}

function showJson(value: unknown): Html {
  return html`<pre tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}
