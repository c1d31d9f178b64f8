/** A real OpenSearch, for the tests that need one: nodes of one cluster, each a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** As `scripts/opensearch-home.mjs`. */
const HOME =
  process.env.OPENSEARCH_HOME ?? join(homedir(), '.cache', 'search402', 'opensearch-2.19.1');

export const hasOpenSearch = existsSync(join(HOME, 'Node.class'));

export const OPENSEARCH_MISSING =
  'There is no OpenSearch here, so the tests on a real cluster do not run. Get it from Maven Central ' +
  'with `npm run opensearch` (a JDK and Maven are needed).';

export interface OpenSearchNode {
  readonly process: ChildProcess;
  /** `http://host:port`. */
  readonly url: string;
  /** Where other nodes of the cluster reach it: `host:port`. */
  readonly transport: string;
}

export interface OpenSearchCluster {
  /** The first one leads the cluster, so it is not the one to lose. */
  readonly nodes: readonly [OpenSearchNode, OpenSearchNode];
  stop(): Promise<void>;
}

/** Starts two nodes: one that leads and holds data, one that holds data. */
export async function startOpenSearch(): Promise<OpenSearchCluster> {
  const home = mkdtempSync(join(tmpdir(), 'opensearch-'));
  const children: ChildProcess[] = [];
  const start = async (name: string, ...settings: string[]): Promise<OpenSearchNode> => {
    const path = join(home, name);
    mkdirSync(join(path, 'config'), { recursive: true });
    const java = [
      '-Xms384m',
      '-Xmx384m',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      `${HOME}/lib/*:${HOME}`,
    ];
    const all = [`node.name=${name}`, 'http.port=0', 'transport.port=0', ...settings];
    const child = spawn('java', [...java, 'Node', path, ...all], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    children.push(child);
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { http, transport } = JSON.parse(line) as Record<'http' | 'transport', string>;
    return { process: child, url: `http://${http}`, transport };
  };
  const first = await start('first', 'cluster.initial_cluster_manager_nodes=first');
  const second = await start(
    'second',
    'node.roles=data',
    `discovery.seed_hosts=${first.transport}`,
  );
  return {
    nodes: [first, second],
    stop: async () => {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const ended = once(child, 'exit');
          child.kill('SIGKILL');
          await ended;
        }),
      );
      rmSync(home, { recursive: true, force: true });
    },
  };
}
