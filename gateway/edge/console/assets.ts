import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router } from 'express';
import { fixedText } from '../http/encoding.js';

/** Where `tsc` puts the scripts of the pages, and where their style sheets and pictures are. */
const compiled = fileURLToPath(new URL('../../../console', import.meta.url));
const sources = join(compiled, '../../console');

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
} as const;

/** Every file that a page loads, by its name. */
const NAMES = [
  'console.css',
  'front.css',
  'reference.css',
  'icon.svg',
  'geist.woff2',
  'geist-mono.woff2',
  'check-steps.js',
  'connect-check.js',
  'connect-key.js',
  'console.js',
  'dialogs.js',
  'charts.js',
  'front.js',
  'playground.js',
  'reference.js',
  'reference-calls.js',
  'sign-in-check.js',
  'tool-client.js',
  'top-up.js',
  'wallet.js',
  'wallet-sign-in.js',
] as const;

export type AssetName = (typeof NAMES)[number];

/** Both faces have `/docs`, so what the pages load is below it. */
const FOLDER = '/docs/assets';

/** A year (RFC 8246): under another content there is another address. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

function folderOf(name: AssetName): string {
  if (name.endsWith('.js')) return compiled;
  return name.endsWith('.woff2') ? join(sources, 'fonts') : sources;
}

interface Loaded {
  readonly files: ReadonlyMap<AssetName, Buffer>;
  /** The first 16 hex digits of the SHA-256 of all files: scripts import each other by name. */
  readonly version: string;
}

let loaded: Loaded | undefined;

function load(): Loaded {
  if (loaded) return loaded;
  const hash = createHash('sha256');
  const files = new Map<AssetName, Buffer>();
  for (const name of NAMES) {
    const bytes = readFileSync(join(folderOf(name), name));
    files.set(name, bytes);
    hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  }
  loaded = { files, version: hash.digest('hex').slice(0, 16) };
  return loaded;
}

/** The address of a file, which names its content: browsers keep it and never ask again. */
export function assetPath(name: AssetName): string {
  return `${FOLDER}/${load().version}/${name}`;
}

/** The bytes of a file. */
export function assetBytes(name: AssetName): Buffer {
  const bytes = load().files.get(name);
  if (!bytes) throw new Error(`${name} was not read`);
  return bytes;
}

/**
 * Serves the files, compressed. Under the address of another version, which a page of another gateway
 * names while a new release is rolled out, a file is served and not kept.
 */
export function assetRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const { files, version } = load();
  for (const [name, bytes] of files) {
    // Fonts are compressed as they are.
    const text = fixedText(bytes, { isCompressible: !name.endsWith('.woff2') });
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES];
    router.get(`${FOLDER}/:version/${name}`, (request, response) => {
      response.setHeader('Content-Type', type);
      const isOurs = request.params.version === version;
      response.setHeader('Cache-Control', isOurs ? FOR_GOOD : 'no-cache');
      text.send(response);
    });
  }
  return router;
}
