import { gzipSync } from 'node:zlib';

/** Makes WARC records byte by byte, so that tests can damage them. */
export function warcRecord(headers: Record<string, string>, content: Buffer | string): Buffer {
  const body = Buffer.from(content);
  const all = { 'Content-Length': String(body.length), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`WARC/1.0\r\n${head.join('')}\r\n`),
    body,
    Buffer.from('\r\n\r\n'),
  ]);
}

/** A fetched page as crawlers archive it. */
export function responseRecord(
  url: string,
  body: Buffer | string,
  { status = 200, headers = { 'Content-Type': 'text/html; charset=utf-8' } }: ResponseOptions = {},
): Buffer {
  const http = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const message = Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} OK\r\n${http.join('')}\r\n`),
    Buffer.from(body),
  ]);
  return warcRecord(
    {
      'WARC-Type': 'response',
      'WARC-Target-URI': url,
      'Content-Type': 'application/http; msgtype=response',
    },
    message,
  );
}

interface ResponseOptions {
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

/** Extracted text as Common Crawl's WET files hold it. */
export function conversionRecord(url: string, text: string): Buffer {
  return warcRecord(
    { 'WARC-Type': 'conversion', 'WARC-Target-URI': url, 'Content-Type': 'text/plain' },
    text,
  );
}

/** Each record as a gzip member of its own, as Common Crawl writes them. */
export function members(records: readonly Buffer[]): Buffer {
  return Buffer.concat(records.map((record) => gzipSync(record)));
}
