/**
 * Settings whose values are secrets, or hold some: keys, tokens, and addresses with a password or a
 * provider's key in them. They go into no log and no copy in clear.
 */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'SMTP_URL',
  'RPC_URLS',
  'RPC_WS_URL',
  'RELAYER_PRIVATE_KEY',
  'RELAYER_SIGNER_URL',
  'FACILITATOR_URL',
  'FACILITATOR_TOKEN',
  'QUOTE_SECRET',
  'SEARCH_CORE_URL',
  'SEARCH_CORE_URLS',
]);

/** Settings that name a file with a secret. */
export const SECRET_FILES: readonly string[] = [
  'SEALING_KEY_FILE',
  'RELAYER_PRIVATE_KEY_FILE',
  'RELAYER_PASSPHRASE_FILE',
];
