import { performance } from 'node:perf_hooks';
import { CHANNEL_OUTCOMES, FAULTS, OUTCOMES } from './faults.js';
import type { Sabotage } from './machine.js';
import { runWorld, type WorldResult } from './world.js';

export interface CampaignOptions {
  /** The first seed, and how many. */
  readonly from: number;
  readonly seeds: number;
  readonly sabotage?: Sabotage;
  /** Whether payers have channels in these worlds, too. */
  readonly hasChannels?: boolean;
  /** Ends the campaign at the first world in which something does not hold. */
  readonly untilViolated?: boolean;
  /** Told of every violation. */
  readonly onViolated?: (line: string) => void;
  /** Told after every world how many have run. */
  readonly onRan?: (worlds: number) => void;
}

/** What became of many worlds. */
export interface Campaign {
  readonly from: number;
  readonly seeds: number;
  readonly hasChannels: boolean;
  /** Real seconds that it took. */
  readonly seconds: number;
  /** Seconds that passed in all worlds together. */
  readonly simulatedSeconds: number;
  /** How often each fault and each outcome occurred. */
  readonly counts: Map<string, number>;
  readonly violated: readonly Pick<WorldResult, 'seed' | 'violations'>[];
}

/** Runs one world after another. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { from, seeds, sabotage, onViolated, onRan } = options;
  const { untilViolated = false, hasChannels = false } = options;
  const startedMs = performance.now();
  const counts = new Map<string, number>();
  const violated: Pick<WorldResult, 'seed' | 'violations'>[] = [];
  let [ran, simulatedSeconds] = [0, 0];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await runWorld({ seed, hasChannels, ...(sabotage && { sabotage }) });
    ran += 1;
    simulatedSeconds += result.seconds;
    addCounts(counts, result.counts);
    onRan?.(ran);
    const { violations } = result;
    if (violations.length === 0) continue;
    violated.push({ seed, violations });
    onViolated?.(`seed ${seed}: ${violations.join('; ')}`);
    if (untilViolated) break;
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return { from, seeds: ran, hasChannels, seconds, simulatedSeconds, counts, violated };
}

/** Adds how often each thing occurred. */
export function addCounts(
  to: Map<string, number>,
  counts: Iterable<readonly [string, number]>,
): void {
  for (const [what, times] of counts) to.set(what, (to.get(what) ?? 0) + times);
}

/** Every fault and outcome that the simulator knows and that did not occur. */
export function missing(
  counts: Campaign['counts'],
  { hasChannels = false }: { readonly hasChannels?: boolean } = {},
): readonly string[] {
  const wanted = hasChannels ? CHANNEL_OUTCOMES : [...FAULTS, ...OUTCOMES];
  return wanted.filter((what) => !counts.has(what));
}

/** A campaign for a person to read. */
export function summary(campaign: Campaign): string {
  const { from, seeds, hasChannels, seconds, simulatedSeconds, counts, violated } = campaign;
  const way = hasChannels ? '--channels ' : '';
  const total = (what: string) => `${String(counts.get(what) ?? 0).padStart(9)}  ${what}`;
  const others = [...counts.keys()].filter(
    (what) => !(FAULTS as readonly string[]).includes(what) && !what.startsWith('process.'),
  );
  const replays = violated.flatMap(({ seed, violations }) => [
    `seed ${seed}: npm run sim -- ${way}--seed ${seed} --trace`,
    ...violations.map((violation) => `  ${violation}`),
  ]);
  return [
    `${seeds} worlds from seed ${from} on, ${violated.length} violated, ${seconds.toFixed(0)} s ` +
      `(${((seconds * 1000) / Math.max(seeds, 1)).toFixed(0)} ms each), ` +
      `${(simulatedSeconds / 3600).toFixed(1)} simulated hours`,
    'Faults:',
    ...FAULTS.map(total),
    'Outcomes:',
    ...others.sort().map(total),
    ...missing(counts, campaign).map((what) => `Never occurred: ${what}`),
    ...replays,
  ].join('\n');
}
