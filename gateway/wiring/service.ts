import type { Logger } from 'pino';
import { publishDevFacts } from '../dev/publish.js';
import { formatUsd } from '../ground/domain/units.js';
import { systemClock as clock, systemRandom as random } from '../ground/system.js';
import type { BannerFacts } from './banner.js';
import type { Config } from './config.js';
import { openDoors } from './doors.js';
import { openGround, type Surroundings } from './ground.js';
import { openRooms, wireSearch } from './rooms.js';
import { createStops } from './stops.js';

/** A running service. */
export interface Service {
  /** Where everything is; the banner is made of it. */
  readonly facts: BannerFacts;
  /** Stops taking requests, finishes what runs, stops everything that was started. */
  stop(): Promise<void>;
}

/**
 * Starts everything that the settings ask for and wires it together.
 *
 * @param onFatal told when what is durable can no longer be known: the process has to end.
 * @throws when a part does not come up; what had been started is stopped first.
 */
export async function startService(
  config: Config,
  log: Logger,
  onFatal: (error: unknown) => void,
): Promise<Service> {
  const stops = createStops(log, clock, config.DRAIN_DELAY_MS + config.DRAIN_TIMEOUT_MS);
  try {
    const facts = await start(config, { log, stops, onFatal });
    return { facts, stop: () => stops.run() };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

async function start(config: Config, surroundings: Surroundings): Promise<BannerFacts> {
  const ground = await openGround(config, surroundings);
  const rooms = await openRooms(config, ground, surroundings);
  const searches = wireSearch(config, ground, rooms, surroundings);
  const urls = await openDoors(config, { ...ground, ...rooms, ...searches }, surroundings);
  const { chain, store } = ground;
  const facts = { store, ...urls, clock, random };
  const dev = chain.dev && (await publishDevFacts(config.DATA_DIR, { ...facts, chain: chain.dev }));
  return {
    ...urls,
    dataDir: config.DATA_DIR,
    database: config.DATABASE_URL === undefined ? 'SQLite' : 'PostgreSQL',
    priceUsd: formatUsd(config.PRICE_USD),
    warnings: ground.warnings,
    ...(dev && { dev }),
  };
}
