import { parseArgs } from 'node:util';
import { UsageError } from './io.js';

const COMMON = `
Everywhere:
  --base-url URL       the service (or SEARCH402_BASE_URL; default http://localhost:4020)
  --max-retries N      retries after the first try, 0 to 10; default 2
  --timeout SECONDS    for each try; default 60
  --json               output for programs
  --help, --version`;

const SEARCH = `
  --max-results N               1 to 20; default 10
  --max-description-length N    1000 to 8000 characters; default 3000`;

const WALLET = `
  --wallet-file FILE    file with the private key, 32 bytes of hex (or SEARCH402_PRIVATE_KEY)
  --store FILE          payment log (or SEARCH402_STORE; default in the user's state folder)`;

const KEY = `
  --key-file FILE    file with the API key (or SEARCH402_API_KEY)`;

/** The help of each command. */
export const HELP = {
  '': `search402: keyword web search, with an API key or paid per search in USDC

  search402 search QUERY…    search with an API key
  search402 pay QUERY…       search without an account, paid from a wallet
  search402 channel …        pay many searches from one deposit: open, list, close
  search402 pack [SEARCHES]  buy a key for many searches with one payment
  search402 quote            what one paid search costs
  search402 mcp              the search tool for MCP clients that start programs
  search402 verify FILE      whether a receipt is good, and for this result
  search402 doctor           what is wrong, and what to do about it

search402 COMMAND --help tells more.
${COMMON}`,
  search: `search402 search QUERY…: search with an API key
${KEY}
${SEARCH}
${COMMON}`,
  pay: `search402 pay QUERY…: search without an account, paid from a wallet in USDC on Base

A payment whose outcome is not known is never replaced by another one: run the same command again
and the same payment is sent.
${WALLET}
  --max-per-request USD    most for one search; default 0.001
  --max-per-day USD        most within 24 hours; default 1
  --max-total USD          most in the whole payment log
  --max-deposit USD        most that may lie unspent in a channel; default 0.1, 0 for no channels
  --payee ADDRESS          pay nobody else; default whom the service was first paid at
${SEARCH}
${COMMON}`,
  channel: `search402 channel open|list|close: pay many searches from one deposit

A deposit into a channel pays for many searches: each costs a signature, and no transaction. What is
not spent comes back. "search402 pay" pays from an open channel by itself.

  search402 channel open     makes a deposit, and spends one search of it: no deposit buys nothing
  search402 channel list     what is in the channels of this wallet
  search402 channel close    asks for the rest of all channels, or of one: --id ID
${WALLET}
  --deposit USD         with open; default what the service asks for
  --max-deposit USD     most that may lie unspent in a channel; default 0.1
  --max-per-day USD     most within 24 hours, deposits included; default 1
  --max-total USD       most in the whole payment log
  --payee ADDRESS       deposit for nobody else
  --id ID               with close: this channel alone
${COMMON}`,
  pack: `search402 pack [SEARCHES]: buy a key for many searches with one payment, without an account

Prints the key. Without SEARCHES it buys the first size that the service sells. A payment whose outcome
is not known is never replaced by another one: run the same command again and the same payment is sent.
${WALLET}
  --max-deposit USD    most that a pack may cost; default 0.1
  --max-per-day USD    most within 24 hours, packs included; default 1
  --max-total USD      most in the whole payment log
  --payee ADDRESS      pay nobody else
${COMMON}`,
  quote: `search402 quote: what one paid search costs; nothing is signed
${COMMON}`,
  mcp: `search402 mcp: the search tool for MCP clients that start programs, such as Claude Desktop

Carries messages between standard input and output and the service’s /mcp. Each search costs a credit
of the key’s account. A client that can connect to an address needs no program: give it the service’s /mcp.
${KEY}
${COMMON}`,
  verify: `search402 verify RECEIPT [RESULT]: whether a signed receipt is good, and for this result

RECEIPT is a file with the receipt, the PAYMENT-RESPONSE header or the output of "pay --json", which
holds the result too. RESULT is a file with the reply. - stands for the standard input. Nothing is asked
of the network without --online.

  --query QUERY      what was searched for; with --max-results and --max-description-length if they
                     were given
  --payer ADDRESS    who must have paid
  --did FILE         the service’s /.well-known/did.json, kept from when you paid: says whose key it is
  --online           asks the service for that document
${SEARCH}
${COMMON}`,
  doctor: `search402 doctor: checks address, clock, index, key, wallet, chain and balance; spends nothing
${KEY}
${WALLET}
  --rpc-url URL    a JSON-RPC endpoint of Base (or SEARCH402_RPC_URL); without it chain and
                   balance are not checked
${COMMON}`,
} as const;

type Command = Exclude<keyof typeof HELP, ''>;

const isCommand = (text: string | undefined): text is Command =>
  text !== undefined && text !== '' && text in HELP;

const ALLOWED: Readonly<Record<Command, readonly string[]>> = {
  search: ['key-file', 'max-results', 'max-description-length'],
  pay: [
    ...['wallet-file', 'store', 'max-per-request', 'max-per-day', 'max-total', 'payee'],
    ...['max-deposit', 'max-results', 'max-description-length'],
  ],
  channel: [
    ...['wallet-file', 'store', 'deposit', 'max-deposit', 'max-per-day', 'max-total', 'payee'],
    'id',
  ],
  pack: ['wallet-file', 'store', 'max-deposit', 'max-per-day', 'max-total', 'payee'],
  quote: [],
  mcp: ['key-file'],
  verify: ['query', 'payer', 'did', 'max-results', 'max-description-length'],
  doctor: ['key-file', 'wallet-file', 'store', 'rpc-url'],
};
const EVERYWHERE = ['base-url', 'max-retries', 'timeout'];

/** One command as it was typed. */
export interface Invocation {
  readonly command: Command | undefined;
  readonly help: boolean;
  readonly version: boolean;
  readonly json: boolean;
  /** Whether a verification may ask the service for its key. */
  readonly online: boolean;
  readonly words: readonly string[];
  /** Options that take a value, by name. */
  readonly values: Readonly<Record<string, string>>;
}

/** The first word that is no option and no option's value: options may stand before the command. */
function firstWord(argv: readonly string[]): string | undefined {
  const names = new Set([...EVERYWHERE, ...Object.values(ALLOWED).flat()]);
  const options = Object.fromEntries([...names].map((name) => [name, { type: 'string' }] as const));
  const { tokens } = parseArgs({
    ...{ args: [...argv], options, allowPositionals: true },
    ...({ strict: false, tokens: true } as const),
  });
  const word = tokens.find(({ kind }) => kind === 'positional');
  return word?.kind === 'positional' ? word.value : undefined;
}

/** @throws {UsageError} for an unknown command or option, or a missing value */
export function parseCommandLine(argv: readonly string[]): Invocation {
  const first = firstWord(argv);
  const command = isCommand(first) ? first : undefined;
  if (first !== undefined && !command) {
    throw new UsageError(`unknown command "${first}"; see search402 --help`);
  }
  const names = command ? [...EVERYWHERE, ...ALLOWED[command]] : EVERYWHERE;
  const flag = { type: 'boolean', default: false } as const;
  const more = command === 'verify' ? { online: flag } : {};
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        ...Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
        ...{ help: { ...flag, short: 'h' }, version: flag, json: flag, ...more },
      },
    });
    const given = Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as const] : [],
    );
    return {
      command,
      help: values.help,
      version: values.version,
      json: values.json,
      online: values.online === true,
      words: positionals.slice(1),
      values: Object.fromEntries(given),
    };
  } catch (error) {
    const { message } = error as TypeError;
    throw new UsageError(`${message}; see search402 ${command ?? ''} --help`);
  }
}

/** A whole number, or undefined when it was not given. */
export function wholeNumber({ values }: Invocation, name: string): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number`);
  return Number(text);
}
