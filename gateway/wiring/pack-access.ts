import type { Router } from 'express';
import type { Credits } from '../customers/credits/credits.js';
import { openPackHolders, type PackHolders } from '../customers/packs/holders.js';
import { openPacks, type Packs } from '../customers/packs/packs.js';
import type { Keys } from '../customers/keys/keys.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import type { Sealing } from '../ground/store/sealing.js';
import type { Store } from '../ground/store/store.js';
import { sizesOf } from '../customers/packs/sizes.js';
import type { BodyLimits } from '../edge/http/body.js';
import { packRoutes } from '../edge/http/pack-routes.js';
import { createSignatureCheck } from '../money/chain/wallet-proof.js';
import { createWalletSignIn } from '../search/wallet-sign-in.js';
import type { Config } from './config.js';
import type { Access } from './access.js';
import type { ChainAccess } from './chain-access.js';
import { startHousekeeping } from './housekeeping.js';
import type { Payments } from './payments.js';

/** Packs and who holds them, with the housekeeping that they need. */
export interface PackAccess {
  readonly packs: Packs;
  readonly holders: PackHolders;
  /** How long a key works after it was bought or topped up, in milliseconds. */
  readonly lifetimeMs: number;
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const RECOVER_EVERY_MS = 60 * 1000;
const PRUNE_EVERY_MS = 10 * 60 * 1000;

export async function openPackAccess(
  config: Pick<Config, 'PACK_DAYS'>,
  parts: {
    store: Store;
    keys: Keys;
    credits: Pick<Credits, 'settle'>;
    sealing: Sealing;
    clock: Clock;
    random: Random;
    log: Log;
  },
): Promise<PackAccess> {
  const { clock, log } = parts;
  const lifetimeMs = config.PACK_DAYS * DAY_MS;
  const packs = openPacks({ ...parts, lifetimeMs });
  await packs.recover();
  const housekeeping = startHousekeeping(clock, log);
  housekeeping.every(RECOVER_EVERY_MS, 'opening settled packs', () => packs.recover());
  housekeeping.every(PRUNE_EVERY_MS, 'pruning packs', () => packs.prune());
  return {
    packs,
    holders: openPackHolders(parts),
    lifetimeMs,
    stop: () => housekeeping.stop(),
  };
}

/** Where packs are bought, listed and revoked; on the gateway's face alone. */
export function packDoor(
  config: Config,
  parts: {
    readonly access: Pick<Access, 'limits' | 'unpaid'>;
    readonly packs: PackAccess;
    readonly payments: Pick<Payments, 'payForPack'>;
    readonly chain: Pick<ChainAccess, 'client' | 'chainId'>;
    readonly publicUrl: string;
    readonly bodyLimits: BodyLimits;
    readonly clock: Clock;
    readonly random: Random;
  },
): Router {
  const { access, packs, payments, chain, publicUrl, bodyLimits, clock, random } = parts;
  const { client, chainId } = chain;
  const { CONTRACT_WALLETS: contractWallets } = config;
  const signatures = createSignatureCheck({ client, contractWallets });
  return packRoutes({
    sales: { sizes: sizesOf(config.PACKS, config.PRICE_USD), pay: payments.payForPack },
    holders: packs.holders,
    signIn: createWalletSignIn({ clock, random, signatures, chainId, publicUrl }),
    bodyLimits,
    admitAddress: (address, policy) => access.limits.admitAddress(address, policy),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
  });
}
