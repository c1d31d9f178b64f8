/** Whether one part can do its work now; `detail` says why not, without secrets. */
export interface PartHealth {
  readonly ready: boolean;
  readonly detail?: string;
}

/** Looks at every part; ready when all are. */
export interface Health {
  check(): Promise<{ ready: boolean; parts: Record<string, PartHealth> }>;
  /** From now on not ready: the process is shutting down. */
  drain(): void;
}

export type Probe = () => PartHealth | Promise<PartHealth>;

export function createHealth(probes: Readonly<Record<string, Probe>>): Health {
  let draining = false;
  return {
    check: async () => {
      const parts: Record<string, PartHealth> = {};
      await Promise.all(
        Object.entries(probes).map(async ([name, probe]) => {
          parts[name] = await settle(probe);
        }),
      );
      if (draining) parts.process = { ready: false, detail: 'draining' };
      return { ready: Object.values(parts).every((part) => part.ready), parts };
    },
    drain: () => {
      draining = true;
    },
  };
}

async function settle(probe: Probe): Promise<PartHealth> {
  try {
    return await probe();
  } catch (error) {
    return { ready: false, detail: error instanceof Error ? error.message : 'unknown' };
  }
}
