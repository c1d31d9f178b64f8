import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a program is: named by a variable such as PROMTOOL_PATH, or on the PATH. */
export function toolPath(name: string): string | undefined {
  const named = process.env[`${name.toUpperCase().replaceAll('-', '_')}_PATH`] ?? '';
  const places = [named, ...(process.env.PATH ?? '').split(delimiter).map((p) => join(p, name))];
  return places.find((place) => {
    try {
      if (place === '') return false;
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Says loudly that a tool is missing, where its check is skipped. */
export function sayMissing(name: string, how: string): void {
  const setting = `${name.toUpperCase().replaceAll('-', '_')}_PATH`;
  process.stderr.write(
    `There is no ${name} here, so its check does not run. ${how}, or set ${setting}.\n`,
  );
}

/** Runs a program; rejects with all that it said when it ends with another code than 0. */
export function runTool(program: string, args: readonly string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, [...args], { cwd }, (error, out, err) => {
      if (error) reject(new Error(`${program} ${args.join(' ')}:\n${out}${err}`));
      else resolve(`${out}${err}`);
    });
  });
}
