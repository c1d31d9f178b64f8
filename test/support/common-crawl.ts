import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { responseRecord } from './warc-maker.js';

export interface Capture {
  readonly url: string;
  readonly html: string;
  readonly crawl: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/**
 * A stand-in for Common Crawl: its list of crawls, its URL index with pages of two captures, and its
 * archives, of which ranges alone are given out.
 */
export async function startCommonCrawl(captures: readonly Capture[]): Promise<{
  readonly origin: string;
  /** Paths with queries, ranges behind a space. */
  readonly requests: string[];
  close(): Promise<void>;
}> {
  const archives = new Map<string, Buffer>();
  const lines = new Map<string, { url: string; line: string }[]>();
  for (const { url, html, crawl, fields } of captures) {
    const filename = `crawl-data/${crawl}/segments/1/warc/${crawl}-00000.warc.gz`;
    const before = archives.get(filename) ?? Buffer.alloc(0);
    const member = gzipSync(responseRecord(url, html));
    archives.set(filename, Buffer.concat([before, member]));
    const line = JSON.stringify({
      urlkey: 'not used',
      timestamp: '20260901000000',
      url,
      mime: 'text/html',
      'mime-detected': 'text/html',
      status: '200',
      digest: 'X',
      length: String(member.length),
      offset: String(before.length),
      filename,
      languages: 'eng',
      ...fields,
    });
    lines.set(crawl, [...(lines.get(crawl) ?? []), { url, line }]);
  }
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const range = /^bytes=(\d+)-(\d+)$/u.exec(request.headers.range ?? '');
    requests.push(`${request.url}${range ? ` ${range[0]}` : ''}`);
    if (pathname === '/collinfo.json') {
      const crawls = [...lines.keys()].sort().reverse();
      response.end(
        JSON.stringify(crawls.map((id) => ({ id, name: id, timegate: '', 'cdx-api': '' }))),
      );
      return;
    }
    const found = lines.get(/^\/([\w-]+)-index$/u.exec(pathname)?.[1] ?? '');
    if (found) {
      const matching = found.filter(({ url }) => isAsked(url, searchParams.get('url') ?? ''));
      const pages = Math.ceil(matching.length / 2);
      const page = Number(searchParams.get('page') ?? 0);
      if (searchParams.get('showNumPages') === 'true') {
        response.end(JSON.stringify({ pages, pageSize: 5, blocks: pages }));
      } else if (page >= pages) {
        response.writeHead(404).end('{"message": "No Captures found"}');
      } else {
        const some = matching.slice(2 * page, 2 * page + 2);
        response.end(some.map(({ line }) => `${line}\n`).join(''));
      }
      return;
    }
    const archive = archives.get(pathname.slice(1));
    if (!archive || !range) {
      response.writeHead(archive ? 400 : 404).end();
      return;
    }
    const [from, to] = [Number(range[1]), Number(range[2])];
    response.writeHead(206, { 'content-type': 'application/octet-stream' });
    response.end(archive.subarray(from, to + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `*.host` and `beginning*`, as the CDX server reads them. */
function isAsked(url: string, asked: string): boolean {
  const bare = url.replace(/^https?:\/\//u, '');
  const { hostname } = new URL(url);
  if (asked.startsWith('*.')) {
    return hostname === asked.slice(2) || hostname.endsWith(asked.slice(1));
  }
  return asked.endsWith('*')
    ? bare.startsWith(asked.slice(0, -1))
    : url === asked || bare === asked;
}
