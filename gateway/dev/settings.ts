import { integer } from '../ground/setting-kinds.js';

/** Settings of the local development chain. */
export const DEV_SETTINGS = {
  /** Port of the local development chain; 0 takes a free one. */
  DEV_CHAIN_PORT: integer(0, 65_535, 0),
  /** Milliseconds between blocks of the local development chain. */
  DEV_BLOCK_TIME_MS: integer(100, 60_000, 1000),
} as const;
