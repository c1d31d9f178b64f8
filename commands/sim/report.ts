import { summary, type Campaign } from '../../test/sim/campaign.js';
import { runWorld } from '../../test/sim/world.js';
import type { ExitCode } from '../command.js';

/** Runs one world and prints what became of it. */
export async function replay(
  seed: number,
  {
    isTraced,
    isJson,
    hasChannels,
  }: { readonly isTraced: boolean; readonly isJson: boolean; readonly hasChannels: boolean },
): Promise<ExitCode> {
  const show = isTraced ? { show: (line: string) => console.log(line) } : {};
  const { violations, digest, seconds } = await runWorld({ seed, hasChannels, ...show });
  if (isJson) console.log(JSON.stringify({ seed, violations, digest, seconds }));
  else {
    console.log(`seed ${seed}: ${seconds.toFixed(0)} s of simulated time, trace ${digest}`);
    for (const violation of violations) console.log(`  ${violation}`);
  }
  return violations.length > 0 ? 1 : 0;
}

/** Prints what became of many worlds. */
export function report(campaign: Campaign, isJson: boolean): ExitCode {
  if (isJson) {
    const { counts, ...rest } = campaign;
    console.log(JSON.stringify({ ...rest, counts: Object.fromEntries(counts) }));
  } else console.log(summary(campaign));
  return campaign.violated.length > 0 ? 1 : 0;
}
