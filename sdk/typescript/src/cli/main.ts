#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { run } from './run.js';

const manifest = new URL('../../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };

process.exitCode = await run(process.argv.slice(2), version, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
});
