/** Whether one part can do its work now; `detail` says why not, without secrets. */
export interface PartHealth {
  readonly ready: boolean;
  readonly detail?: string;
}

/**
 * What the service can do now. Two facts, because a gateway that cannot take payments still serves
 * keys, and a balancer that sent it nobody would make one outage of two.
 */
export interface Readiness {
  /** Searches with a key can be answered. */
  readonly keys: boolean;
  /** Payments can be taken, too. */
  readonly payments: boolean;
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** Looks at every part. */
export interface Health {
  check(): Promise<Readiness>;
  /** From now on not ready: the process is shutting down. */
  drain(): void;
}

export type Probe = () => PartHealth | Promise<PartHealth>;
type Probes = Readonly<Record<string, Probe>>;

/** @param probes of what every search needs, and of what payments need besides. */
export function createHealth(probes: { readonly keys: Probes; readonly payments: Probes }): Health {
  let draining = false;
  return {
    check: async () => {
      const [keys, payments] = await Promise.all([look(probes.keys), look(probes.payments)]);
      if (draining) keys.process = { ready: false, detail: 'draining' };
      const isReady = (parts: Record<string, PartHealth>) =>
        Object.values(parts).every(({ ready }) => ready);
      return {
        keys: isReady(keys),
        payments: isReady(keys) && isReady(payments),
        parts: { ...keys, ...payments },
      };
    },
    drain: () => {
      draining = true;
    },
  };
}

async function look(probes: Probes): Promise<Record<string, PartHealth>> {
  const looks = Object.entries(probes).map(
    async ([name, probe]) => [name, await settle(probe)] as const,
  );
  return Object.fromEntries(await Promise.all(looks));
}

async function settle(probe: Probe): Promise<PartHealth> {
  try {
    return await probe();
  } catch (error) {
    return { ready: false, detail: error instanceof Error ? error.message : 'unknown' };
  }
}
