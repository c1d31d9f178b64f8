import type { SearchRequest, SearchResponse } from '../../../search-core/contract.js';
import type { RateState } from '../../customers/limits/admission.js';
import type { Refusal } from '../../ground/domain/refusal.js';

/** A request for a search, in some host's form. */
export interface Asked {
  /** The query string, or the fields of a form: the first of each name. */
  readonly fields: ReadonlyMap<string, string>;
  /** The parsed JSON body; undefined where the form has none. */
  readonly body: unknown;
}

/** What a host wants to know, in the words of `POST /search`, and the way back. */
export interface Question {
  /** The SearchRequest; the pipeline checks it like everybody's. */
  readonly search: SearchRequest;
  /** Gives the answer the host's form. */
  answer(response: SearchResponse, requestId: string): object;
}

/** A reply in a host's form. */
export interface FaceReply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a refusal is told with. */
export interface RefusalContext {
  readonly requestId: string;
  /** Where the caller stands against its rate, where that was counted. */
  readonly rate: RateState | undefined;
  /** Unix time in seconds. */
  readonly nowSeconds: number;
}

/** The request cannot be understood; `field` is the one that is wrong. */
export interface Misread {
  readonly kind: 'misread';
  readonly field: string;
  readonly detail: string;
}

export function misread(field: string, detail: string): Misread {
  return { kind: 'misread', field, detail };
}

/** A search service's form, as hosts speak it: what comes in, what goes out, and how it says no. */
export interface Face {
  /** A JSON body, or fields of the address or of a form. */
  readonly takes: 'json' | 'fields';
  /** Reads what is asked. Pure; costs nothing and looks at no credential. */
  read(asked: Asked): Question | Misread;
  /** What the service itself says of a field that it does not take. */
  misread(fault: Misread, context: RefusalContext): FaceReply;
  /** What it says in place of a refusal of the pipeline. */
  refuse(refusal: Refusal, context: RefusalContext): FaceReply;
}
