import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { PASSAGE_CHARS_MAX } from './budget.js';

/** Characters that a caller of the tool may ask for, all pages together. */
export const CHARACTERS = { min: 500, max: PASSAGE_CHARS_MAX } as const;

/** A tool call's arguments: the SearchRequest, which the pipeline parses, and what is the tool's own. */
export interface ToolArguments {
  readonly search: unknown;
  /** Characters of the whole result at the most; absent where the caller leaves it to the tool. */
  readonly maxCharacters?: number;
}

/** Takes the tool's own argument out; `POST /search` does not know it. */
export function toolArguments(args: unknown): ToolArguments | Refusal {
  if (typeof args !== 'object' || args === null || !('maxCharacters' in args)) {
    return { search: args };
  }
  const { maxCharacters, ...search } = args;
  const { min, max } = CHARACTERS;
  if (!Number.isInteger(maxCharacters)) return wrong();
  const wanted = Number(maxCharacters);
  return wanted >= min && wanted <= max ? { search, maxCharacters: wanted } : wrong();

  function wrong(): Refusal {
    return refuse(
      'invalid_parameter',
      `The parameter "maxCharacters" must be an integer from ${min} to ${max}.`,
    );
  }
}
