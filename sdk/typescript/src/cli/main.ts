#!/usr/bin/env node
import { VERSION } from '../version.js';
import { run } from './run.js';

process.exitCode = await run(process.argv.slice(2), VERSION, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
});
