import type { PageSink } from '../sink.js';
import type { LivingSink } from './living-sink.js';

/**
 * An index on other machines that is kept fresh. What others change there is not noticed: OpenSearch
 * does not tell whose commit it was.
 */
export function clusterSink(sink: PageSink): LivingSink {
  return {
    place: sink.place,
    held: (urls) => sink.held(urls),
    addresses: () => sink.addresses(),
    update: (pages, gone) => sink.update(pages, gone),
    isForeign: () => Promise.resolve(false),
    accept: () => Promise.resolve(),
    stamp: '',
    close: () => Promise.resolve(),
  };
}
