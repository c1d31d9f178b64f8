/** The command whose source is small: it runs again from the start when stopped. */
import { type CommandPorts, load, type LoadOptions } from './load.js';
import type { Page } from './page.js';
import type { Report } from './report.js';
import { starterPages } from './starter.js';
import { createTally } from './tally.js';

/** `npm run index -- starter`: the READMEs below `nodeModulesDir` replace the index. */
export async function indexStarter(
  nodeModulesDir: string,
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const tally = createTally();
  const pages = counted(starterPages(nodeModulesDir), () => {
    tally.keep();
    const { kept } = tally;
    ports.progress.show({ unit: 'packages', units: kept, kept, dropped: 0, bytes: 0 });
  });
  return load({ command: 'starter', pages, tally, startedMs }, options, ports);
}

async function* counted(pages: AsyncIterable<Page>, onPage: () => void): AsyncIterable<Page> {
  for await (const page of pages) {
    onPage();
    yield page;
  }
}
