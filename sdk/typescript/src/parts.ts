import { ConfigurationError } from './errors.js';
import { resolveOptions, type ClientOptions, type Settings } from './options.js';
import { createDefaultStore } from './payment/default-store.js';
import { Payer } from './payment/payer.js';
import { realRuntime, type Runtime } from './runtime.js';

/** What a client is made of. */
export interface Parts {
  readonly settings: Settings;
  readonly payer: Payer | undefined;
  readonly runtime: Runtime;
}

/** Parts that exist already, by the options that stand for them. */
const prepared = new WeakMap<ClientOptions, Parts>();

/**
 * Makes the parts of a client.
 * @throws {ConfigurationError} when an option or an environment variable cannot be right
 */
export function makeParts(options: ClientOptions, runtime: Runtime): Parts {
  const settings = resolveOptions(options);
  const { wallet, payment = {} } = options;
  if (!wallet) return { settings, payer: undefined, runtime };
  const store = payment.store ?? createDefaultStore(settings.log);
  try {
    return { settings, payer: new Payer(wallet, payment, store, runtime), runtime };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigurationError(`a cap cannot be read: ${error.message}`, { cause: error });
  }
}

/** Options that make a client of these parts. So no constructor has a parameter of ours. */
export function optionsFor(parts: Parts): ClientOptions {
  const options: ClientOptions = {};
  prepared.set(options, parts);
  return options;
}

/** The parts that these options stand for, or new ones. */
export function partsOf(options: ClientOptions): Parts {
  return prepared.get(options) ?? makeParts(options, realRuntime);
}
