import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decimalNumber, UsageError, wholeNumber } from '../../commands/command.js';

const FOLDER = fileURLToPath(new URL('../../commands/', import.meta.url));
/** All commands that there are: what a new one forgets, fails here. */
const COMMANDS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.js') && file !== 'command.js')
  .map((file) => file.slice(0, -'.js'.length));

/** Runs a program in a real process, without settings of this one. */
function node(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const env = { PATH: process.env.PATH, DATA_DIR: join(tmpdir(), 'search402-nothing-here') };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, out, err) => {
      resolve({ code: error ? error.code : 0, out, err });
    });
  });
}

const run = (command: string, ...args: string[]) => node(join(FOLDER, `${command}.js`), ...args);

/** Runs a command that is written here. */
const runWritten = (spec: string, ...args: string[]) => {
  const shared = JSON.stringify(new URL('../../commands/command.js', import.meta.url).href);
  const program = `const { runCommand, runCommandAndExit, UsageError } = await import(${shared});`;
  return node('--input-type=module', '--eval', `${program} ${spec}`, '--', ...args);
};

test('the commands are found', () => {
  expect(COMMANDS).toEqual(expect.arrayContaining(['kill', 'ledger', 'pay', 'mcp-stdio', 'sim']));
});

describe.each(COMMANDS)('%s', (command) => {
  test.each(['--help', '-h'])(
    '%s is a text on the standard output and ends with 0',
    async (help) => {
      const { code, out, err } = await run(command, help);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out.split('\n').length).toBeGreaterThan(4);
      expect(out).toContain('npm run');
    },
  );

  test('an unknown option is one line on the standard error and ends with 2', async () => {
    expect(await run(command, '--no-such-option')).toEqual({
      code: 2,
      out: '',
      err: "Unknown option '--no-such-option'. See --help.\n",
    });
  });
});

describe('what was typed', () => {
  test.each([
    ['storm', '--payments', '0', '--payments must be a whole number from 1 to 1000000'],
    ['storm', '--faults', '1', '--faults must be a number from 0 to 0.9'],
    ['kill', '--times', '1.5', '--times must be a whole number from 1 to 1000000'],
    ['kill', '--points', 'nowhere', '--points: not all of these are known, each once: nowhere'],
    ['attack', '--only', 'nothing', '--only: there is no attack nothing'],
    ['sim', '--threads', '65', '--threads must be a whole number from 1 to 64'],
    ['pay', '--max-results', '21', 'Enter what to search for: npm run pay -- "some words"'],
    ['ledger', '--limit', '-1', "Option '--limit' argument is ambiguous"],
  ])('%s %s %s ends with 2 and says why', async (command, option, value, sentence) => {
    const { code, out, err } = await run(command, option, value);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `${sentence}. See --help.\n` });
  });

  test('an argument too many is an error where a command takes none', async () => {
    const { code, err } = await run('sim', 'fast');
    expect({ code, err }).toEqual({ code: 2, err: "Unexpected argument 'fast'. See --help.\n" });
  });

  test('help is given even beside what cannot be used', async () => {
    expect((await run('sim', '--no-such-option', '-h')).code).toBe(0);
  });

  test('no service to check is a mistake of the caller', async () => {
    expect(await run('mcp-check')).toEqual({
      code: 2,
      out: '',
      err: 'data/dev.json not found. Run npm start first, or pass --url. See --help.\n',
    });
  });
});

describe('errors under --json', () => {
  test('pay writes an object to the standard output', async () => {
    const { code, out, err } = await run('pay', '--json', '--no-such-option', 'bread');
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(JSON.parse(out)).toEqual({
      error: 'usage',
      message: "Unknown option '--no-such-option'",
    });
  });

  test('an error of paying keeps its code and ends with 1', async () => {
    const { code, out } = await run('pay', '--json', 'bread');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ error: 'unreachable' });
  });

  test('a command that never did so writes its sentence', async () => {
    const { out, err } = await run('storm', '--json', '--seed', 'x');
    expect(out).toBe('');
    expect(err).toMatch(/^--seed must be a whole number .*\. See --help\.\n$/);
  });
});

describe('any other error', () => {
  const broken = `await runCommand({
    help: '', options: {}, run: () => { throw new Error('the disk is full'); },
  });`;

  test('is its message and ends with 1', async () => {
    const failed = { code: 1, out: '', err: 'the disk is full\n' };
    expect(await runWritten(broken)).toEqual(failed);
  });

  test('shows its stack with DEBUG set', async () => {
    const { err } = await runWritten(`process.env.DEBUG = '1'; ${broken}`);
    expect(err).toMatch(/^Error: the disk is full\n {4}at /);
  });
});

describe('the end', () => {
  const work = `({
    help: '', options: {}, run: () => {
      setInterval(() => undefined, 1000);
      console.log('x'.repeat(1_000_000));
      return 1;
    },
  })`;

  test('of a command that exits comes when all of a long report is out, whatever still runs', async () => {
    const { code, out } = await runWritten(`await runCommandAndExit${work};`);
    expect(code).toBe(1);
    expect(out).toHaveLength(1_000_001);
  });

  test('of one that serves does not come while something runs', async () => {
    const program = `setTimeout(() => process.exit(7), 200); await runCommand${work};`;
    expect((await runWritten(program)).code).toBe(7);
  });
});

describe('numbers', () => {
  test('within the bounds are taken, the bounds included', () => {
    expect(wholeNumber('n', '1', 1, 20)).toBe(1);
    expect(wholeNumber('n', '20', 1, 20)).toBe(20);
    expect(decimalNumber('n', '0.9', 0, 0.9)).toBe(0.9);
  });

  test.each(['', ' ', '0', '21', '-1', '1.5', '1e1', '0x1', 'Infinity', 'NaN', '٣'])(
    '%j is no whole number from 1 to 20',
    (text) => {
      expect(() => wholeNumber('n', text, 1, 20)).toThrow(UsageError);
    },
  );

  test.each(['', '-0.1', '0.91', '1e-1', '.5', '1.', 'NaN'])(
    '%j is no number from 0 to 0.9',
    (text) => {
      expect(() => decimalNumber('n', text, 0, 0.9)).toThrow(UsageError);
    },
  );
});
