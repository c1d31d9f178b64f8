/**
 * How every command reads its options and says what went wrong. Exit codes: 0 all is well, 1 it is
 * not, 2 what was typed cannot be used.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';

type OptionsConfig = NonNullable<ParseArgsConfig['options']>;

/** What was typed, or is set, makes no sense; the message is one sentence that says how it would. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** 1: the command did its work, and what it found is not as it must be. */
export type ExitCode = 0 | 1;

interface Config<Options extends OptionsConfig> {
  args: string[];
  options: Options;
  allowPositionals: boolean;
}

/** What was typed, as `parseArgs` of node:util gives it. */
export type Given<Options extends OptionsConfig> = ReturnType<typeof parseArgs<Config<Options>>>;

export interface Command<Options extends OptionsConfig> {
  /** Goes to the standard output for `--help` and `-h`. */
  readonly help: string;
  /** All but `--help`. */
  readonly options: Options;
  readonly allowPositionals?: boolean;
  /** Names an error for programs. Where it is given, errors are JSON objects under `--json`. */
  readonly errorCode?: (error: unknown) => string;
  /** @throws UsageError */
  readonly run: (given: Given<Options>) => Promise<ExitCode> | ExitCode;
}

/** Runs a command; the process ends when nothing is left to do. */
export async function runCommand<Options extends OptionsConfig>(
  command: Command<Options>,
): Promise<void> {
  const args = process.argv.slice(2);
  try {
    if (asksForHelp(args)) process.stdout.write(command.help);
    else process.exitCode = await command.run(parse(args, command));
  } catch (error) {
    report(error, args.includes('--json') ? command.errorCode : undefined);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/**
 * Runs a command, and ends the process when its report is out: nothing that a client, a server or
 * a database has left behind keeps the program.
 */
export async function runCommandAndExit<Options extends OptionsConfig>(
  command: Command<Options>,
): Promise<never> {
  await runCommand(command);
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  return process.exit();
}

/** Reads `--name text`. @throws UsageError unless it is a whole number within the bounds. */
export function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return within('whole number', { name, value, min, max });
}

/** Reads `--name text`. @throws UsageError unless it is a number such as 0.2 within the bounds. */
export function decimalNumber(name: string, text: string, min: number, max: number): number {
  const value = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : NaN;
  return within('number', { name, value, min, max });
}

function within(
  kind: string,
  { name, value, min, max }: { name: string; value: number; min: number; max: number },
): number {
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a ${kind} from ${min} to ${max}`);
}

/** Also where the other options cannot be used: who is lost asks for help. */
function asksForHelp(args: string[]): boolean {
  const options = { help: { type: 'boolean', short: 'h' } } as const;
  return parseArgs({ args, options, strict: false }).values.help === true;
}

function parse<Options extends OptionsConfig>(
  args: string[],
  { options, allowPositionals = false }: Command<Options>,
): Given<Options> {
  try {
    return parseArgs<Config<Options>>({ args, options, allowPositionals });
  } catch (error) {
    throw new UsageError(firstSentence(error instanceof Error ? error.message : String(error)));
  }
}

/** The parser goes on about arguments that begin with a dash; the help has more. */
function firstSentence(text: string): string {
  return text.split(/\.\s|\n/, 1)[0] ?? text;
}

function report(error: unknown, errorCode: ((error: unknown) => string) | undefined): void {
  const message = error instanceof Error ? error.message : String(error);
  if (errorCode) {
    const code = error instanceof UsageError ? 'usage' : errorCode(error);
    console.log(JSON.stringify({ error: code, message }));
  } else if (error instanceof UsageError) {
    console.error(`${message.replace(/\.$/, '')}. See --help.`);
  } else {
    const isDebug = (process.env.DEBUG ?? '') !== '';
    console.error(isDebug && error instanceof Error ? (error.stack ?? message) : message);
  }
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
