/**
 * The starter index: the READMEs of the packages that the project itself installs. They are real
 * English pages that are there on every machine, so a fresh clone can answer searches.
 */
import { type Dirent, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { isEnglish } from './language.js';
import { markdownText } from './markdown.js';
import { PAGE_LIMITS, type Page } from './page.js';
import { qualityFault } from './quality.js';
import { cleanLine, cut, cutAtWord } from './text.js';

interface Package {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly directory: string;
  /** File name of its README. */
  readonly readme: string;
}

/** Directories below directories of packages, at the most. */
const DEPTH_MAX = 8;
const README_BYTES_MAX = 1_000_000;
const TITLE_LENGTH = 160;

/**
 * One page for each package under `nodeModulesDir` (scoped and nested ones too) whose README is
 * English prose: of several installed versions the newest. Pages come in the order of their names,
 * so the same packages make the same index. Reads nothing outside that directory.
 */
export async function* starterPages(nodeModulesDir: string): AsyncIterable<Page> {
  const newest = new Map<string, Package>();
  for await (const found of packagesIn(nodeModulesDir, 0)) {
    const known = newest.get(found.name);
    if (!known || compareVersions(found.version, known.version) > 0) newest.set(found.name, found);
  }
  for (const name of [...newest.keys()].sort()) {
    const found = newest.get(name);
    const page = found && (await pageOf(found));
    if (page) yield page;
  }
}

async function* packagesIn(nodeModulesDir: string, depth: number): AsyncIterable<Package> {
  for (const entry of await directoriesOf(nodeModulesDir)) {
    const path = join(nodeModulesDir, entry.name);
    const isScope = entry.name.startsWith('@');
    for (const directory of isScope
      ? (await directoriesOf(path)).map((scoped) => join(path, scoped.name))
      : [path]) {
      const found = await packageAt(directory);
      if (found) yield found;
      if (depth < DEPTH_MAX) yield* packagesIn(join(directory, 'node_modules'), depth + 1);
    }
  }
}

async function directoriesOf(path: string): Promise<Dirent[]> {
  const entries = await fs.readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
}

async function packageAt(directory: string): Promise<Package | undefined> {
  const files = await fs.readdir(directory).catch((): string[] => []);
  const readmes = files.filter((file) => /^readme(?:\.(?:md|markdown|mdown|txt))?$/iu.test(file));
  const readme = readmes.find((file) => /\.m/iu.test(file)) ?? readmes[0];
  if (readme === undefined || !files.includes('package.json')) return undefined;
  const manifest = parseManifest(await fs.readFile(join(directory, 'package.json'), 'utf8'));
  return manifest && { ...manifest, directory, readme };
}

function parseManifest(
  json: string,
): Pick<Package, 'name' | 'version' | 'description'> | undefined {
  let manifest: unknown;
  try {
    manifest = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof manifest !== 'object' || manifest === null) return undefined;
  const text = (key: string): string => {
    const value: unknown = Reflect.get(manifest, key);
    return typeof value === 'string' ? value : '';
  };
  const name = text('name');
  // The registry's own rule for names; anything else has no public page.
  if (!/^(?:@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*$/iu.test(name)) return undefined;
  return { name, version: text('version'), description: text('description') };
}

async function pageOf(found: Package): Promise<Page | undefined> {
  const bytes = await fs.readFile(join(found.directory, found.readme));
  const { heading, text } = markdownText(bytes.subarray(0, README_BYTES_MAX).toString('utf8'));
  if (qualityFault(text) !== undefined || !isEnglish(text)) return undefined;
  return {
    url: `https://www.npmjs.com/package/${found.name}`,
    title: titleOf(found, heading),
    text: cut(text, PAGE_LIMITS.text),
  };
}

/** The name, and what the package is in its own words. */
function titleOf({ name, description }: Package, heading: string | undefined): string {
  const words = markdownText(cleanLine(description)).text || (heading ?? '');
  const isName = words.toLowerCase() === name.toLowerCase();
  return words === '' || isName ? name : cutAtWord(`${name}: ${words}`, TITLE_LENGTH);
}

/** Semantic Versioning 2.0.0, section 11, up to the order among pre-releases. */
function compareVersions(a: string, b: string): number {
  const parts = (version: string): number[] => version.split(/[.+-]/u).slice(0, 3).map(Number);
  const [left, right] = [parts(a), parts(b)];
  for (let at = 0; at < 3; at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  const isPre = (version: string): number => (version.includes('-') ? 1 : 0);
  return isPre(b) - isPre(a);
}
