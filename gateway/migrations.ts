import { PEOPLE_MIGRATIONS } from './accounts/people/schema.js';
import { ACCOUNT_MIGRATIONS } from './accounts/schema.js';
import { USAGE_MIGRATIONS } from './accounts/usage/schema.js';
import { KEY_MIGRATIONS } from './keys/schema.js';
import { LEDGER_MIGRATIONS } from './ledger/migrations.js';
import type { Migration } from './store/migrations.js';

/** Every room's part of the schema, in the order in which it comes into being. */
export const MIGRATIONS: readonly Migration[] = [
  ...KEY_MIGRATIONS,
  ...ACCOUNT_MIGRATIONS,
  ...PEOPLE_MIGRATIONS,
  ...USAGE_MIGRATIONS,
  ...LEDGER_MIGRATIONS,
];
