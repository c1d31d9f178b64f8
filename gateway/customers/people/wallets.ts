import type { Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { address as addressOf, type Address, type Hex } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { walletAdded } from './letters.js';
import type { Mailer } from './mail.js';
import { takeOwnMail } from './mail-allowance.js';
import type { PeopleTables } from './schema.js';

/** How a wallet shows that it is there: a message of ERC-4361, and whether it was signed. */
export interface WalletProof {
  /** The same text for the same claim, whenever it is made. */
  messageOf(claim: {
    address: Address;
    nonce: string;
    statement: string;
    issuedAt: Date;
    expiresAt: Date;
  }): string;
  /** `unknown` when only the chain could tell and it is out of reach. */
  isSigned(message: string, address: Address, signature: Hex): Promise<'yes' | 'no' | 'unknown'>;
}

/** What a wallet is to sign. The nonce comes back with the signature and is good once. */
interface Challenge {
  readonly nonce: string;
  readonly message: string;
}

interface SignedChallenge {
  readonly nonce: string;
  readonly signature: string;
}

/** A sentence for the person. */
interface WalletRefusal {
  readonly kind: 'no';
  readonly message: string;
}

export type WalletSignIn =
  | { readonly kind: 'person'; readonly personId: string }
  /** A wallet of nobody; whoever shows the ticket within an hour may have it (`addProved`). */
  | { readonly kind: 'stranger'; readonly ticket: string }
  | WalletRefusal;

export type WalletAddition = { readonly kind: 'added'; readonly address: Address } | WalletRefusal;

interface WalletView {
  readonly address: Address;
  readonly addedAt: Date;
}

/**
 * Wallets as a second way to sign in. The server makes the whole message, remembers what it asked,
 * and makes it again to check the signature: nothing that comes back is read, so a signature for
 * another domain, chain, address, time or purpose is a signature of something else.
 */
export interface Wallets {
  /** Asks a wallet to sign in; with a person's id, to be added to that person's sign-in. */
  challenge(address: Address, personId?: string): Promise<Challenge>;
  signIn(signed: SignedChallenge): Promise<WalletSignIn>;
  /** Adds the wallet that signed the challenge of this very person. */
  add(personId: string, signed: SignedChallenge): Promise<WalletAddition>;
  /** Adds the wallet of a ticket that `signIn` gave to a stranger. */
  addProved(personId: string, ticket: string): Promise<WalletAddition>;
  list(personId: string): Promise<readonly WalletView[]>;
  remove(personId: string, address: Address): Promise<'removed' | 'not-found'>;
}

/** How long a challenge is good, and how long a stranger has to confirm an e-mail address. */
const CHALLENGE_MS = 10 * 60 * 1000;
export const TICKET_MS = 60 * 60 * 1000;
const NONCE_BYTES = 16;
const WALLETS_MAX = 5;

const STATEMENTS = {
  signIn: 'Sign in to search402. This is free and moves no money.',
  add: 'Let this wallet sign in to your search402 account. This is free and moves no money.',
} as const;

export function openWallets(
  parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly random: Random;
    readonly mailer: Mailer;
    /** The address at which people reach the console, without a path. */
    readonly publicUrl: string;
  },
  proof: WalletProof,
): Wallets {
  const { store, clock, mailer, publicUrl } = parts;
  const newNonce = () => Buffer.from(parts.random.bytes(NONCE_BYTES)).toString('hex');

  const remember = (claim: Omit<PeopleTables['wallet_claims'], 'expires_at'>, expiresAt: number) =>
    store.write((tx: Kysely<PeopleTables>) =>
      tx
        .insertInto('wallet_claims')
        .values({ ...claim, expires_at: expiresAt })
        .execute(),
    );

  const messageOf = (address: Address, nonce: string, personId: string | null, end: number) =>
    proof.messageOf({
      address,
      nonce,
      statement: personId === null ? STATEMENTS.signIn : STATEMENTS.add,
      issuedAt: new Date(end - CHALLENGE_MS),
      expiresAt: new Date(end),
    });

  /** Takes a challenge away, so that it is presented once, and says whose signature it bears. */
  const prove = async (
    { nonce, signature }: SignedChallenge,
    personId: string | null,
  ): Promise<Address | WalletRefusal> => {
    const asked = await store.write((tx: Kysely<PeopleTables>) =>
      take(tx, nonce, 'asked', personId, clock.now()),
    );
    if (!asked) return GONE;
    const { address, expiresAt } = asked;
    if (!isHex(signature)) return UNSIGNED;
    const message = messageOf(address, nonce, personId, expiresAt);
    const answer = await proof.isSigned(message, address, signature);
    if (answer === 'unknown') return OUT_OF_REACH;
    return answer === 'yes' ? address : UNSIGNED;
  };

  /** Adds a wallet in a transaction that finds it, and tells the person by mail. */
  const addBy = async (
    personId: string,
    find: (tx: Kysely<PeopleTables>) => Promise<Address | undefined>,
  ): Promise<WalletAddition> => {
    const { addition, email } = await store.write<
      PeopleTables,
      { addition: WalletAddition; email?: string | undefined }
    >(async (tx) => {
      const address = await find(tx);
      if (address === undefined) return { addition: GONE };
      const person = await tx
        .selectFrom('people')
        .select('email')
        .where('id', '=', personId)
        .executeTakeFirst();
      // No wallet without its mail: whoever is in an account must not add one unseen.
      const waitMs = person ? await takeOwnMail(tx, 'wallet-added', person.email, clock.now()) : 0;
      if (waitMs > 0) return { addition: tooMany(waitMs) };
      const addition = await add(tx, personId, address, clock.now());
      return { addition, email: person?.email };
    });
    if (addition.kind === 'added' && email !== undefined) {
      mailer.send(walletAdded(publicUrl, { email }, addition.address));
    }
    return addition;
  };

  return {
    async challenge(address, personId) {
      const nonce = newNonce();
      const end = clock.now() + CHALLENGE_MS;
      const owner = personId ?? null;
      await remember({ nonce, address, person_id: owner, state: 'asked' }, end);
      return { nonce, message: messageOf(address, nonce, owner, end) };
    },
    async signIn(signed) {
      const address = await prove(signed, null);
      if (typeof address !== 'string') return address;
      const known = await store.read((db: Kysely<PeopleTables>) =>
        db
          .selectFrom('wallets')
          .select('person_id')
          .where('address', '=', address)
          .executeTakeFirst(),
      );
      if (known) return { kind: 'person', personId: known.person_id };
      const ticket = newNonce();
      const claim = { nonce: ticket, address, person_id: null, state: 'proved' } as const;
      await remember(claim, clock.now() + TICKET_MS);
      return { kind: 'stranger', ticket };
    },
    async add(personId, signed) {
      const address = await prove(signed, personId);
      if (typeof address !== 'string') return address;
      return addBy(personId, () => Promise.resolve(address));
    },
    addProved: (personId, ticket) =>
      addBy(personId, async (tx) => {
        const proved = await take(tx, ticket, 'proved', null, clock.now());
        return proved?.address;
      }),
    async list(personId) {
      const rows = await store.read((db: Kysely<PeopleTables>) =>
        db
          .selectFrom('wallets')
          .select(['address', 'created_at'])
          .where('person_id', '=', personId)
          .orderBy('created_at')
          .orderBy('address')
          .execute(),
      );
      return rows.map(({ address, created_at }) => ({
        address: addressOf(address),
        addedAt: new Date(Number(created_at)),
      }));
    },
    async remove(personId, address) {
      const gone = await store.write((tx: Kysely<PeopleTables>) =>
        tx
          .deleteFrom('wallets')
          .where('address', '=', address)
          .where('person_id', '=', personId)
          .returning('address')
          .executeTakeFirst(),
      );
      return gone ? 'removed' : 'not-found';
    },
  };
}

/** Takes every wallet off a person's sign-in: whoever got in by one is out with the password. */
export function removeWallets(store: Store, personId: string): Promise<unknown> {
  return store.write((tx: Kysely<PeopleTables>) =>
    tx.deleteFrom('wallets').where('person_id', '=', personId).execute(),
  );
}

/** One statement decides who uses a claim; of two, the second finds nothing. */
async function take(
  tx: Kysely<PeopleTables>,
  nonce: string,
  state: 'asked' | 'proved',
  personId: string | null,
  now: number,
): Promise<{ address: Address; expiresAt: number } | undefined> {
  const row = await tx
    .deleteFrom('wallet_claims')
    .where('nonce', '=', nonce)
    .where('state', '=', state)
    .where('person_id', personId === null ? 'is' : '=', personId)
    .where('expires_at', '>', BigInt(now))
    .returning(['address', 'expires_at'])
    .executeTakeFirst();
  return row && { address: addressOf(row.address), expiresAt: Number(row.expires_at) };
}

async function add(
  tx: Kysely<PeopleTables>,
  personId: string,
  address: Address,
  now: number,
): Promise<WalletAddition> {
  const own = await tx
    .selectFrom('wallets')
    .select('address')
    .where('person_id', '=', personId)
    .execute();
  if (own.some((wallet) => wallet.address === address)) return { kind: 'added', address };
  if (own.length >= WALLETS_MAX) return FULL;
  const added = await tx
    .insertInto('wallets')
    .values({ address, person_id: personId, created_at: now })
    .onConflict((conflict) => conflict.column('address').doNothing())
    .returning('address')
    .executeTakeFirst();
  return added ? { kind: 'added', address } : TAKEN;
}

function isHex(text: string): text is Hex {
  return /^0x(?:[0-9a-fA-F]{2})+$/.test(text);
}

const refusal = (message: string): WalletRefusal => ({ kind: 'no', message });
const GONE = refusal('This wallet request was already used or has expired. Try again.');
const UNSIGNED = refusal('The signature doesn’t match this wallet and message.');
const OUT_OF_REACH = refusal('We couldn’t reach the chain to check this wallet. Try again later.');
const FULL = refusal(
  `At most ${WALLETS_MAX} wallets can sign in to one account. Remove one first.`,
);
const tooMany = (waitMs: number) =>
  refusal(`You’ve linked many wallets lately. Try again in ${Math.ceil(waitMs / 60_000)} minutes.`);
const TAKEN = refusal('This wallet is linked to another person. Unlink it there first.');
