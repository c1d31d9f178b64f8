import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import { createEndpoint, type CallOptions, type Endpoint } from './endpoint.js';
import { ChainUnreachable, isOverload, RpcError } from './errors.js';
import { createHeads } from './heads.js';
import { createHealth, type Health, type Standing } from './health.js';
import { findLie, parseBlock } from './judge.js';
import type { Transport } from './transport.js';

export interface PoolOptions {
  /** JSON-RPC endpoints of one chain, at least one. */
  readonly urls: readonly string[];
  /** What every endpoint must answer to `eth_chainId`. */
  readonly chainId: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The way to an endpoint; HTTP unless a simulator has another. */
  readonly connect?: (url: string) => Transport;
  /** Told of every call that is sent. */
  onCall?(method: string): void;
  /** Told how every call ended. */
  observe?(event: CallEvent): void;
}

export interface CallEvent {
  readonly endpoint: string;
  readonly method: string;
  readonly outcome: 'answered' | 'rpc-error' | ChainUnreachable['kind'];
  readonly elapsedMs: number;
}

export interface EndpointStatus {
  readonly name: string;
  readonly standing: Standing;
  readonly latencyMs: number;
}

export interface Member {
  readonly endpoint: Endpoint;
  readonly health: Health;
}

/** Which endpoints may be asked, and what asking them teaches about them. */
export interface Pool {
  /**
   * The endpoints to ask, quickest first. Those that are due are probed: in the background while
   * others are ready, else before this resolves, at most for `waitMs`.
   * @throws ChainUnreachable of kind `unavailable` when there is none; at once while all cool down.
   */
  ready(waitMs: number): Promise<readonly Member[]>;
  /** One call to one endpoint, judged. @throws RpcError, ChainUnreachable */
  ask(member: Member, method: string, params: readonly unknown[], o: CallOptions): Promise<unknown>;
  status(): readonly EndpointStatus[];
  close(): void;
}

const PROBE_MS = 3_000;
/** While several endpoints are in use, each shows its newest block at least this often. */
const SIGHT_EVERY_MS = 10_000;

export function createPool(options: PoolOptions): Pool {
  const { clock, random, log, chainId } = options;
  if (options.urls.length === 0) throw new RangeError('at least one RPC endpoint is needed');
  const members: readonly Member[] = options.urls.map((url, index) => ({
    endpoint: createEndpoint({
      url,
      name: `#${index + 1} ${new URL(url).host}`,
      clock,
      ...(options.connect && { connect: options.connect }),
      ...(options.onCall && { onCall: (method) => options.onCall?.(method) }),
    }),
    health: createHealth(clock, random),
  }));
  const heads = createHeads<Member>(clock);
  const probes = new Map<Member, Promise<void>>();

  const reasons = new Map<Member, string>();
  const leave = (member: Member, reason: string) => {
    reasons.set(member, reason);
    member.health.lied();
    log.warn({ endpoint: member.endpoint.name, reason }, 'an RPC endpoint is left for a while');
  };

  const isReady = ({ health }: Member) => health.standing() === 'ready';

  /** Learns from a block, and leaves whoever contradicts the others because of it. */
  const see = (member: Member, answer: unknown): string | undefined => {
    const latest = parseBlock(answer);
    if (!latest) return undefined;
    const wrong = heads.saw(member, latest);
    for (const one of members.filter((other) => other !== member && isReady(other))) {
      const others = members.filter(
        (other) => other !== one && (other === member || isReady(other)),
      );
      const deviation = heads.deviation(one, others);
      if (deviation !== undefined) leave(one, deviation);
    }
    return (
      wrong ??
      heads.deviation(
        member,
        members.filter((other) => other !== member && isReady(other)),
      )
    );
  };

  const ask: Pool['ask'] = async (member, method, params, callOptions) => {
    const { endpoint, health } = member;
    const startedMs = clock.monotonicMs();
    const report = (outcome: CallEvent['outcome']) => {
      const elapsedMs = clock.monotonicMs() - startedMs;
      options.observe?.({ endpoint: endpoint.name, method, outcome, elapsedMs });
      return elapsedMs;
    };
    let answer: unknown;
    try {
      answer = await endpoint.call(method, params, callOptions);
    } catch (error) {
      const kind = error instanceof ChainUnreachable ? error.kind : 'rpc-error';
      const elapsedMs = report(kind);
      const { message: reason } = error as Error;
      if (callOptions.signal?.aborted === true) health.abandoned(elapsedMs);
      else if (error instanceof RpcError && !isOverload(error)) health.answered(elapsedMs);
      else if (health.failed()) {
        reasons.set(member, reason);
        log.warn({ endpoint: endpoint.name, reason }, 'an RPC endpoint fails');
      }
      throw error;
    }
    const isLatest = method === 'eth_getBlockByNumber' && params[0] === 'latest';
    const lie =
      findLie(method, params, answer, chainId) ?? (isLatest ? see(member, answer) : undefined);
    if (lie !== undefined) {
      report('lie');
      leave(member, lie);
      throw new ChainUnreachable('lie', `${endpoint.name}: ${lie}`);
    }
    health.answered(report('answered'));
    return answer;
  };

  const probe = (member: Member): Promise<void> => {
    const running = probes.get(member);
    if (running) return running;
    const deadline = { deadlineMs: PROBE_MS };
    const started = Promise.all([
      ask(member, 'eth_chainId', [], deadline),
      ask(member, 'eth_getBlockByNumber', ['latest', false], deadline),
    ]).then(
      () => {
        // One of the two may have failed it meanwhile.
        if (member.health.standing() !== 'due') return;
        member.health.proven();
        log.info({ endpoint: member.endpoint.name }, 'an RPC endpoint is in use');
      },
      (error: unknown) => {
        if (error instanceof RpcError) member.health.failed();
      },
    );
    const finished = started.finally(() => probes.delete(member));
    probes.set(member, finished);
    return finished;
  };

  const ready: Pool['ready'] = async (waitMs) => {
    const due = members.filter(({ health }) => health.standing() === 'due').map(probe);
    if (!members.some(isReady)) await firstReady(due, () => members.some(isReady), clock, waitMs);
    const usable = members.filter(isReady);
    if (usable.length === 0) {
      const coolingMs = Math.min(...members.map(({ health }) => health.coolingMs()));
      const why = members.map((one) => `${one.endpoint.name}: ${reasons.get(one) ?? 'no answer'}`);
      throw new ChainUnreachable(
        'unavailable',
        `no RPC endpoint is usable (${why.join('; ')})`,
        Math.max(1, Math.ceil(coolingMs / 1000)),
      );
    }
    if (usable.length > 1) {
      for (const member of usable) {
        if (heads.ageMs(member) < SIGHT_EVERY_MS || probes.has(member)) continue;
        void probe(member);
      }
    }
    return usable.sort((a, b) => a.health.latencyMs() - b.health.latencyMs());
  };

  return {
    ready,
    ask,
    status: () =>
      members.map(({ endpoint, health }) => ({
        name: endpoint.name,
        standing: health.standing(),
        latencyMs: health.latencyMs(),
      })),
    close: () => {
      for (const { endpoint } of members) endpoint.close();
    },
  };
}

/** Resolves when one of the probes has made an endpoint ready, all have ended, or time is up. */
async function firstReady(
  probes: readonly Promise<void>[],
  isEnough: () => boolean,
  clock: Clock,
  waitMs: number,
): Promise<void> {
  if (probes.length === 0) return;
  const over = new AbortController();
  await new Promise<void>((resolve) => {
    for (const probe of probes) {
      void probe.then(() => {
        if (isEnough()) resolve();
      });
    }
    void Promise.all(probes).then(() => resolve());
    void clock.sleep(waitMs, over.signal).then(() => resolve());
  });
  over.abort();
}
