import { BLOCK_MS } from '../chain/chain.js';
import type { StormParts } from '../storm.js';
import { watchAcceptance } from './checks.js';
import type { ChannelCustomers } from './lives.js';

interface Parts extends Omit<StormParts, 'customers'> {
  readonly channels: ChannelCustomers;
  readonly stormMs: number;
  violation(what: string): void;
}

/** How long no endpoint can be reached: less than the delay, of which a third is left for claims. */
const OUTAGE_MS = [60_000, 540_000] as const;

/** Sends those with channels on their way, and watches what is taken of them. */
export function liveWithChannels(parts: Parts): void {
  const { channels, time } = parts;
  channels.start();
  if (parts.dice.fork('outage').chance(0.35)) breakEndpoints(parts);
  const look = watchAcceptance({ ...parts, customers: channels });
  const watch = () => {
    look();
    time.after(BLOCK_MS, watch);
  };
  watch();
}

/** A long time without any RPC, once everything else has calmed down. */
function breakEndpoints({ endpoints, time, trace, stormMs, dice: worldDice }: Parts): void {
  const dice = worldDice.fork('long outage');
  const fromMs = stormMs + dice.between(0, 60_000);
  const [least, most] = OUTAGE_MS;
  time.after(fromMs, () => {
    trace.count('endpoint.long-outage');
    for (const endpoint of endpoints) endpoint.isDown = true;
  });
  time.after(fromMs + dice.between(least, most), () => {
    for (const endpoint of endpoints) endpoint.isDown = false;
  });
}
