import { z } from 'zod';

/** Settings of what everything stands on: the data folder, the database, and the log. */
export const GROUND_SETTINGS = {
  /** Folder for the database, the index, and the local chain. */
  DATA_DIR: z.string().min(1).default('data'),
  /** `postgres://…`; without it SQLite in DATA_DIR. */
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  /** File with the key that secrets in the database are sealed with: 64 hex digits. Without it
   * `sealing.key` in DATA_DIR, made at the first start. */
  SEALING_KEY_FILE: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).optional(),
} as const;
