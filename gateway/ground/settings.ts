import { z } from 'zod';
import { integer } from './setting-kinds.js';

/** Settings of what everything stands on: the data folder, the database, and the log. */
export const GROUND_SETTINGS = {
  /** Folder for the database, the index, and the local chain. */
  DATA_DIR: z.string().min(1).default('data'),
  /** `postgres://…`; without it SQLite in DATA_DIR. */
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  /** Connections to PostgreSQL at the most. */
  DATABASE_CONNECTIONS: integer(2, 1000, 10),
  /** Milliseconds that PostgreSQL may take for one statement, and for a lock that somebody has. */
  DATABASE_STATEMENT_TIMEOUT_MS: integer(100, 600_000, 5000),
  DATABASE_LOCK_TIMEOUT_MS: integer(50, 600_000, 2000),
  /** File with the key that secrets in the database are sealed with: 64 hex digits. Without it
   * `sealing.key` in DATA_DIR, made at the first start. */
  SEALING_KEY_FILE: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).optional(),
} as const;
