import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Engine, SearchMetrics } from '../engine.js';

/** What search-core tells about itself at `/metrics`, in Prometheus' text format. */
export class ServiceMetrics {
  private readonly registry = new Registry();
  private readonly seconds = new Histogram({
    name: 'search_core_search_seconds',
    help: 'Time from a search request to its answer, waiting included.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });
  private readonly searches = new Counter({
    name: 'search_core_searches_total',
    help: 'Searches by how they ended: complete, cut short by deadline or postings, or refused.',
    labelNames: ['ended'],
    registers: [this.registry],
  });
  private readonly phrases = new Counter({
    name: 'search_core_phrase_searches_total',
    help: 'Searches with a phrase in quotes: required of every page, or preferred as too few hold it.',
    labelNames: ['phrases'],
    registers: [this.registry],
  });
  private readonly postings = new Counter({
    name: 'search_core_postings_read_total',
    help: 'Postings decoded by searches.',
    registers: [this.registry],
  });
  private readonly waiting = new Gauge({
    name: 'search_core_searches_in_flight',
    help: 'Searches that wait or run.',
    registers: [this.registry],
  });

  constructor(engine: Engine) {
    for (const name of ['pages', 'generation'] as const) {
      new Gauge({
        name: `search_core_index_${name}`,
        help: `The searchable index: ${name}.`,
        registers: [this.registry],
        async collect() {
          this.set((await engine.stats())[name]);
        },
      });
    }
    new Gauge({
      name: 'search_core_index_behind',
      help: '1 while the engine cannot take up what was committed last, or cannot search at all.',
      registers: [this.registry],
      async collect() {
        this.set((await engine.stats()).problem === undefined ? 0 : 1);
      },
    });
  }

  started(): void {
    this.waiting.inc();
  }

  answered(seconds: number, metrics: SearchMetrics): void {
    this.waiting.dec();
    this.seconds.observe(seconds);
    this.searches.inc({ ended: metrics.ended });
    if (metrics.phrases !== 'none') this.phrases.inc({ phrases: metrics.phrases });
    this.postings.inc(metrics.postings);
  }

  failed(): void {
    this.waiting.dec();
    this.searches.inc({ ended: 'failed' });
  }

  refused(): void {
    this.searches.inc({ ended: 'refused' });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
