import type { Clock } from '../../ground/domain/ports.js';
import { countedNames } from './address.js';
import { limited, type Admission, type RateState } from './admission.js';
import type { SlidingWindow } from './window.js';
import { Windows } from './windows.js';

/** Who is limited: an account by its rate and, where it has one of its own, a key by that. */
export interface LimitedCaller {
  readonly account: { readonly id: string; readonly ratePerSecond: number };
  readonly key: { readonly id: string; readonly ratePerSecond: number | null };
}

/**
 * What an address may do without an account. Both are refusals that cost the server little, so
 * the limits are generous: they bound a flood, they do not ration a client.
 */
type AddressPolicy = 'challenge' | 'payment' | 'failed-key';

/**
 * Rates of searches by account and key, and of unpaid challenges and failed keys by address. No
 * more than the limit is ever admitted in any one-second span.
 */
export interface Limits {
  /** Counts one request of an account, unless it is over its rate or its key's. */
  admit(caller: LimitedCaller): Promise<Admission>;
  /** Counts one request of an address under a policy, unless it is over the policy's rate. */
  admitAddress(address: string, policy: AddressPolicy): Admission;
  /** Says whether an address is over a policy's rate, without counting anything. */
  peekAddress(address: string, policy: AddressPolicy): Admission;
}

interface LimitsSettings {
  /** Unpaid challenges per second and address. */
  readonly challengesPerSecond: number;
  /** Requests with a payment per second and address. */
  readonly paymentsPerSecond: number;
  /** Failed keys per ten seconds and address. */
  readonly failedKeysPerWindow: number;
  /** Accounts and keys, and addresses for each policy, that are remembered at once. */
  readonly namesMax: number;
}

const DEFAULTS: LimitsSettings = {
  challengesPerSecond: 100,
  paymentsPerSecond: 1000,
  failedKeysPerWindow: 50,
  namesMax: 20_000,
};
const SECOND_MS = 1000;
const FAILED_KEY_WINDOW_MS = 10_000;

/** Limits kept in the memory of one process. */
export function memoryLimits(clock: Clock, settings: Partial<LimitsSettings> = {}): Limits {
  const { challengesPerSecond, paymentsPerSecond, failedKeysPerWindow, namesMax } = {
    ...DEFAULTS,
    ...settings,
  };
  const callers = new Windows(SECOND_MS, namesMax);
  const addresses = {
    challenge: { windows: new Windows(SECOND_MS, namesMax), limit: challengesPerSecond },
    payment: { windows: new Windows(SECOND_MS, namesMax), limit: paymentsPerSecond },
    'failed-key': {
      windows: new Windows(FAILED_KEY_WINDOW_MS, namesMax),
      limit: failedKeysPerWindow,
    },
  };
  const addressWindows = (address: string, policy: AddressPolicy) => {
    const { windows, limit } = addresses[policy];
    return countedNames(address).map(({ name, share }) => ({
      window: windows.get(name, Math.ceil(limit * share)),
      who: 'One address',
    }));
  };

  return {
    admit({ account, key }) {
      const nowMs = clock.monotonicMs();
      const windows = [
        { window: callers.get(account.id, account.ratePerSecond), who: 'Your account' },
      ];
      if (key.ratePerSecond !== null) {
        windows.push({ window: callers.get(`key ${key.id}`, key.ratePerSecond), who: 'This key' });
      }
      return Promise.resolve(admitAll('search', windows, nowMs));
    },
    admitAddress(address, policy) {
      return admitAll(policy, addressWindows(address, policy), clock.monotonicMs());
    },
    peekAddress(address, policy) {
      return judgeAll(policy, addressWindows(address, policy), clock.monotonicMs());
    },
  };
}

type Counted = readonly { readonly window: SlidingWindow; readonly who: string }[];

/** Counts in every window or in none; answers for the one with the least room. */
function admitAll(policy: string, windows: Counted, nowMs: number): Admission {
  const judged = judgeAll(policy, windows, nowMs);
  if (judged.kind === 'limited') return judged;
  for (const { window } of windows) window.take(nowMs);
  return { kind: 'admitted', rate: leastOf(policy, windows, nowMs) };
}

/** Whether one more fits into every window; counts nothing. */
function judgeAll(policy: string, windows: Counted, nowMs: number): Admission {
  for (const { window, who } of windows) {
    const waitMs = window.waitMs(nowMs);
    if (waitMs > 0) return limited(stateOf(policy, window, nowMs), waitMs, who);
  }
  return { kind: 'admitted', rate: leastOf(policy, windows, nowMs) };
}

function leastOf(policy: string, windows: Counted, nowMs: number): RateState {
  const states = windows.map(({ window }) => stateOf(policy, window, nowMs));
  return states.reduce((least, state) => (state.remaining < least.remaining ? state : least));
}

function stateOf(policy: string, window: SlidingWindow, nowMs: number): RateState {
  return {
    policy,
    limit: window.limit,
    windowSeconds: window.windowMs / 1000,
    remaining: window.remaining(nowMs),
    resetSeconds: Math.max(1, Math.ceil(window.resetMs(nowMs) / 1000)),
  };
}
