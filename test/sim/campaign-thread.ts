// A thread of a campaign: runs its part of the seeds, and tells of it as it goes.
import { parentPort, workerData } from 'node:worker_threads';
import { runCampaign, type Campaign } from './campaign.js';

/** What a thread tells: of a violation, how many of its worlds have run, or what became of all. */
export type ThreadNews =
  | { readonly kind: 'violated'; readonly line: string }
  | { readonly kind: 'ran'; readonly worlds: number }
  | { readonly kind: 'done'; readonly campaign: Campaign };

const tell = (news: ThreadNews) => parentPort?.postMessage(news);
const { from, seeds, hasChannels } = workerData as Pick<Campaign, 'from' | 'seeds' | 'hasChannels'>;

const campaign = await runCampaign({
  from,
  seeds,
  hasChannels,
  onViolated: (line) => tell({ kind: 'violated', line }),
  onRan: (worlds) => tell({ kind: 'ran', worlds }),
});
tell({ kind: 'done', campaign });
