import { ACCOUNT_MIGRATIONS } from '../customers/credits/schema.js';
import { KEY_MIGRATIONS } from '../customers/keys/schema.js';
import { LIMIT_MIGRATIONS } from '../customers/limits/schema.js';
import { CHANNEL_MIGRATIONS } from '../money/channel-books/migrations.js';
import { LEDGER_MIGRATIONS } from '../money/ledger/migrations.js';
import { PACK_MIGRATIONS } from '../customers/packs/schema.js';
import { PEOPLE_MIGRATIONS } from '../customers/people/schema.js';
import { USAGE_MIGRATIONS } from '../customers/usage/schema.js';
import { OAUTH_MIGRATIONS } from '../edge/oauth/schema.js';
import type { Migration } from '../ground/store/migrations.js';

/** The whole schema, in the order in which it is made. */
export const MIGRATIONS: readonly Migration[] = [
  ...KEY_MIGRATIONS,
  ...ACCOUNT_MIGRATIONS,
  ...PEOPLE_MIGRATIONS,
  ...USAGE_MIGRATIONS,
  ...LIMIT_MIGRATIONS,
  ...LEDGER_MIGRATIONS,
  ...CHANNEL_MIGRATIONS,
  ...OAUTH_MIGRATIONS,
  ...PACK_MIGRATIONS,
];
