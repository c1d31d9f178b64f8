/** The commands whose sources are quick to read: they run again from the start when stopped. */
import { openInput } from './input.js';
import { jsonlPages } from './jsonl.js';
import { type CommandPorts, load, type LoadOptions } from './load.js';
import type { Page } from './page.js';
import type { Report } from './report.js';
import { starterPages } from './starter.js';
import { createTally } from './tally.js';

/** `npm run index -- FILE.jsonl`: a file's pages replace the index, or are added to it. */
export async function indexJsonl(
  path: string,
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const input = await openInput(path);
  const tally = createTally();
  const pages = jsonlPages(input.bytes, tally, (units) => {
    const { kept, dropped } = tally;
    const bytes = input.readBytes();
    ports.progress.show({
      unit: 'lines',
      units,
      kept,
      dropped,
      bytes,
      totalBytes: input.sizeBytes,
    });
  });
  return load({ command: 'jsonl', pages, tally, startedMs }, options, ports);
}

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
