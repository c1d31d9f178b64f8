import type { z } from 'zod';
import type { Address } from '../ground/domain/units.js';
import { ConfigError } from '../ground/setting-kinds.js';
import type { MONEY_SETTINGS } from './settings.js';

type MoneySettings = z.infer<z.ZodObject<typeof MONEY_SETTINGS>>;

/** Where the relayers' keys are. */
export type RelayerConfig =
  | { readonly key: string }
  | { readonly file: string; readonly passphraseFile?: string }
  | { readonly url: string; readonly addresses: readonly Address[] };

/** Somebody else's relayer. */
export interface FacilitatorConfig {
  readonly facilitatorUrl: string;
  readonly token?: string;
  readonly timeoutMs: number;
}

const RELAYER = 'RELAYER_PRIVATE_KEY, RELAYER_PRIVATE_KEY_FILE or RELAYER_SIGNER_URL';
/** The settings that name who moves the money. */
export const MOVER =
  'RELAYER_PRIVATE_KEY, RELAYER_PRIVATE_KEY_FILE, RELAYER_SIGNER_URL or FACILITATOR_URL';

/** The one place of the relayers' keys that is named, if one is. */
function relayerConfig(values: MoneySettings): RelayerConfig | undefined {
  const { RELAYER_PRIVATE_KEY: key, RELAYER_PRIVATE_KEY_FILE: file } = values;
  const { RELAYER_SIGNER_URL: url, RELAYER_ADDRESSES: addresses } = values;
  const { RELAYER_PASSPHRASE_FILE: passphraseFile } = values;
  if ([key, file, url].filter((one) => one !== undefined).length > 1) {
    throw new ConfigError([`${RELAYER}: give one of these, not several.`]);
  }
  if (key !== undefined) return { key };
  if (file !== undefined) return { file, ...(passphraseFile !== undefined && { passphraseFile }) };
  if (url === undefined) return undefined;
  if (addresses.length === 0) {
    throw new ConfigError([
      'RELAYER_ADDRESSES is missing: the accounts that the signer signs for.',
    ]);
  }
  return { url, addresses };
}

/** The facilitator that is named, if one is. */
function facilitatorConfig(values: MoneySettings): FacilitatorConfig | undefined {
  const { FACILITATOR_URL: facilitatorUrl, FACILITATOR_TOKEN: token } = values;
  if (facilitatorUrl !== undefined) {
    const timeoutMs = values.FACILITATOR_TIMEOUT_MS;
    return { facilitatorUrl, ...(token !== undefined && { token }), timeoutMs };
  }
  if (token === undefined) return undefined;
  throw new ConfigError(['FACILITATOR_TOKEN belongs to FACILITATOR_URL, which is missing.']);
}

/** Who moves the money, if anybody is named: one of the two. */
export function moverConfig(values: MoneySettings): RelayerConfig | FacilitatorConfig | undefined {
  const [relayer, facilitator] = [relayerConfig(values), facilitatorConfig(values)];
  if (relayer && facilitator) {
    throw new ConfigError([`${RELAYER}: leave it out, or leave out FACILITATOR_URL.`]);
  }
  if (facilitator && values.PRECONFIRMATIONS) {
    throw new ConfigError([
      'PRECONFIRMATIONS=on is for own relayers: leave it out, or leave out FACILITATOR_URL.',
    ]);
  }
  if (facilitator && values.CHANNELS) {
    throw new ConfigError([
      'CHANNELS=on is for own relayers: leave it out, or leave out FACILITATOR_URL.',
    ]);
  }
  return relayer ?? facilitator;
}
