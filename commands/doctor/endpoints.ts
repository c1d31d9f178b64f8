import { BASE_CHAIN_ID } from '../../contracts-abi/addresses.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

/** One JSON-RPC endpoint, as it answered. */
export interface Seen {
  /** Number and host: the rest of an address may hold a key. */
  readonly name: string;
  readonly chainId: number;
  readonly block: number;
  /** Seconds since 1970. */
  readonly blockTime: number;
  readonly elapsedMs: number;
  /** The endpoint's own clock, in milliseconds since 1970, where it tells. */
  readonly clockMs: number | undefined;
  readonly ask: (method: string, params: readonly unknown[]) => Promise<unknown>;
}

const TIMEOUT_MS = 5_000;
/** An honest endpoint of Base shows a block within some seconds. */
const LAG_SECONDS = { warning: 15, bad: 120 };
const BEHIND_BLOCKS = 5;
/** Blocks below the newest that all endpoints have: deep enough to be the same everywhere. */
const COMMON_DEPTH = 3;
const SLOW_MS = 1_500;
const SKEW_MS = { warning: 2_500, bad: 15_000 };

interface Block {
  readonly hash: string;
  readonly number: string;
  readonly timestamp: string;
}

/** Looks at each endpoint alone, then at what they say of each other and of this machine's clock. */
export async function lookAtEndpoints(
  urls: readonly string[],
  nowMs: () => number,
): Promise<{ readonly findings: readonly Finding[]; readonly seen: readonly Seen[] }> {
  const looks = await Promise.all(
    urls.map((url, at) => look(url, `#${at + 1} ${hostOf(url)}`, nowMs)),
  );
  const seen = looks.flatMap((one) => ('seen' in one ? [one.seen] : []));
  const newest = Math.max(...seen.map(({ block }) => block));
  const findings = [
    ...looks.flatMap((one) =>
      'finding' in one ? [one.finding] : judge(one.seen, newest, nowMs()),
    ),
    ...(urls.length === 1
      ? [
          warning(
            'rpc.count',
            'There is one RPC endpoint: while it is away no payment is taken.',
            'Name one of another provider in RPC_URLS, too.',
          ),
        ]
      : []),
    ...(await agreement(seen)),
    ...clock(seen, nowMs()),
  ];
  return { findings, seen };
}

const hostOf = (url: string) => new URL(url).host;

async function look(
  url: string,
  name: string,
  nowMs: () => number,
): Promise<{ seen: Seen } | { finding: Finding }> {
  let clockMs: number | undefined;
  const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    });
    if (response.status === 429) throw new Error('it limits the rate of calls (429)');
    if (!response.ok) throw new Error(`it answers ${response.status}`);
    const date = Date.parse(response.headers.get('date') ?? '');
    if (Number.isFinite(date)) clockMs = date;
    const answer = (await response.json()) as { result?: unknown; error?: { message?: string } };
    if (answer.error) throw new Error(answer.error.message ?? 'it answers with an error');
    return answer.result;
  };
  try {
    const startedMs = nowMs();
    const chainId = Number(await ask('eth_chainId', []));
    const { number, timestamp } = (await ask('eth_getBlockByNumber', ['latest', false])) as Block;
    const elapsedMs = (nowMs() - startedMs) / 2;
    const told = { block: Number(number), blockTime: Number(timestamp), elapsedMs, clockMs };
    return { seen: { name, chainId, ask, ...told } };
  } catch (error) {
    const said = `RPC endpoint ${name} does not answer: ${reasonOf(error)}.`;
    return {
      finding: bad('rpc.answers', said, 'Check its address and key in RPC_URLS, or leave it out.'),
    };
  }
}

function judge(one: Seen, newest: number, nowMs: number): readonly Finding[] {
  const who = `RPC endpoint ${one.name}`;
  if (one.chainId !== BASE_CHAIN_ID) {
    return [
      bad(
        'rpc.chain',
        `${who} serves chain ${one.chainId}, and payments are made on ${BASE_CHAIN_ID}.`,
        'Put an endpoint of Base mainnet in its place.',
      ),
    ];
  }
  const lagSeconds = Math.round(nowMs / 1000 - one.blockTime);
  const behind = newest - one.block;
  if (lagSeconds > LAG_SECONDS.warning || behind > BEHIND_BLOCKS) {
    const said = `${who} is behind: its newest block is ${lagSeconds} seconds old, ${behind} below the newest seen.`;
    const cure = 'Use another endpoint until it has caught up.';
    return [(lagSeconds > LAG_SECONDS.bad ? bad : warning)('rpc.lag', said, cure)];
  }
  if (one.elapsedMs > SLOW_MS) {
    const said = `${who} takes ${Math.round(one.elapsedMs)} ms for an answer.`;
    return [warning('rpc.slow', said, 'Use one that is nearer: payers wait for it.')];
  }
  return [
    good(
      'rpc.answers',
      `${who} answers in ${Math.round(one.elapsedMs)} ms, at block ${one.block}.`,
    ),
  ];
}

/** Endpoints of one chain have the same block at the same height. */
async function agreement(all: readonly Seen[]): Promise<readonly Finding[]> {
  const seen = all.filter(({ chainId }) => chainId === BASE_CHAIN_ID);
  if (seen.length < 2) return [];
  const height = Math.max(0, Math.min(...seen.map(({ block }) => block)) - COMMON_DEPTH);
  const hashes = await Promise.all(
    seen.map(async ({ name, ask }) => {
      const block = (await ask('eth_getBlockByNumber', [`0x${height.toString(16)}`, false]).catch(
        () => null,
      )) as Block | null;
      return { name, hash: block?.hash ?? 'nothing' };
    }),
  );
  if (new Set(hashes.map(({ hash }) => hash)).size === 1) {
    return [good('rpc.agreement', `All ${seen.length} endpoints have the same block ${height}.`)];
  }
  const said = hashes.map(({ name, hash }) => `${name} ${hash.slice(0, 12)}`).join(', ');
  return [
    bad(
      'rpc.agreement',
      `The endpoints have different blocks at height ${height}: ${said}.`,
      'Ask a block explorer which is right, and leave out whoever is not: it follows another fork.',
    ),
  ];
}

function clock(seen: readonly Seen[], nowMs: number): readonly Finding[] {
  // The header `Date` is in whole seconds; the middle of several is hard to be fooled.
  const skews = seen
    .flatMap(({ clockMs }) => (clockMs === undefined ? [] : [nowMs - clockMs - 500]))
    .sort((a, b) => a - b);
  // A block is never from the future: without a header, that much is known.
  const ahead = Math.max(...seen.map(({ blockTime }) => blockTime * 1000 - nowMs));
  const skew = skews[Math.floor(skews.length / 2)] ?? (ahead > 0 ? -ahead : undefined);
  if (skew === undefined) return [];
  const seconds = (Math.abs(skew) / 1000).toFixed(1);
  const direction = skew > 0 ? 'fast' : 'slow';
  const cure = 'Run a time service (chrony, systemd-timesyncd): quotes and leases go by the clock.';
  const said = `This machine’s clock is ${seconds} seconds ${direction}.`;
  if (Math.abs(skew) > SKEW_MS.bad) return [bad('clock', said, cure)];
  if (Math.abs(skew) > SKEW_MS.warning) return [warning('clock', said, cure)];
  return [good('clock', 'This machine’s clock is right.')];
}
