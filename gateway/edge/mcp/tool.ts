import type { StandardSchemaWithJSON, ToolAnnotations } from '@modelcontextprotocol/server';
import { DESCRIPTION_LENGTH, QUERY_WORDS_MAX, RESULTS } from '../../../search-core/contract.js';

import { CHARACTERS } from './arguments.js';

export const SEARCH_TOOL = 'search';
export const SEARCH_TITLE = 'Web search';

/** What a model reads before it writes a query: the specification's guidance. */
export const SEARCH_DESCRIPTION = [
  'Searches English web pages by keywords and returns a ranked list of pages, each with title, URL',
  'and a passage of its text. The search is lexical: it matches the exact words and phrases of the',
  'query, knows no synonyms, guesses no intent, and corrects no spelling. Word order matters.',
  '',
  'How to write a query:',
  '- Use 2 to 8 specific keywords: entities, places, dates. No full sentences, no questions.',
  '- Leave out articles and most prepositions, unless they belong to a name or a fixed phrase.',
  '- Where a term is ambiguous, put several synonyms into the same query.',
  '- Send several simple queries rather than one complex one, and combine their results.',
].join('\n');

export const SEARCH_ANNOTATIONS: ToolAnnotations = {
  title: SEARCH_TITLE,
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

const INPUT = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      description:
        'The keywords, separated by spaces: 2 to 8 are best, ' +
        `1 to ${QUERY_WORDS_MAX} are accepted.`,
    },
    maxResults: {
      type: 'integer',
      minimum: RESULTS.min,
      maximum: RESULTS.max,
      default: RESULTS.default,
      description: 'Maximum number of pages to return.',
    },
    maxDescriptionLength: {
      type: 'integer',
      minimum: DESCRIPTION_LENGTH.min,
      maximum: DESCRIPTION_LENGTH.max,
      default: DESCRIPTION_LENGTH.default,
      description: 'Maximum length of each page’s passage in characters.',
    },
    maxCharacters: {
      type: 'integer',
      minimum: CHARACTERS.min,
      maximum: CHARACTERS.max,
      description:
        'Maximum characters of the whole result. It is spent on the best pages, whole where they ' +
        'fit; the others are left out.',
    },
  },
  required: ['query'],
  additionalProperties: false,
};

/**
 * The tool's input as it is listed. Its check lets everything pass: the pipeline parses a search
 * once, for every way in, and its refusals say the same here as over HTTP.
 */
export const SEARCH_INPUT: StandardSchemaWithJSON = {
  '~standard': {
    version: 1,
    vendor: 'search402',
    validate: (value) => ({ value }),
    jsonSchema: { input: () => INPUT, output: () => INPUT },
  },
};
