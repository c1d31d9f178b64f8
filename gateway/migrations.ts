import { ACCOUNT_MIGRATIONS } from './accounts/schema.js';
import { KEY_MIGRATIONS } from './keys/schema.js';
import { LIMIT_MIGRATIONS } from './limits/schema.js';
import { LEDGER_MIGRATIONS } from './ledger/migrations.js';
import { PEOPLE_MIGRATIONS } from './accounts/people/schema.js';
import { USAGE_MIGRATIONS } from './accounts/usage/schema.js';
import { OAUTH_MIGRATIONS } from './oauth/schema.js';
import type { Migration } from './store/migrations.js';

/** The whole schema, in the order in which it is made. */
export const MIGRATIONS: readonly Migration[] = [
  ...KEY_MIGRATIONS,
  ...ACCOUNT_MIGRATIONS,
  ...PEOPLE_MIGRATIONS,
  ...USAGE_MIGRATIONS,
  ...LIMIT_MIGRATIONS,
  ...LEDGER_MIGRATIONS,
  ...OAUTH_MIGRATIONS,
];
