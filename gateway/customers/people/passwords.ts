/** Characters of a password. */
export const PASSWORD_LENGTH = { min: 10, max: 128 } as const;

/**
 * What the most used passwords are made of (from published lists of leaked ones). A password that is
 * one of these with digits and signs around it is among the first that anybody tries.
 */
const COMMON = [
  'password passwort passw0rd motdepasse contrasena wachtwoord senha parola kennwort geheim secret',
  'qwerty qwertz azerty letmein welcome willkommen bienvenue iloveyou changeme default login admin',
  'administrator root superuser master access trustno football baseball basketball soccer dragon',
  'monkey princess sunshine superman batman pokemon starwars whatever computer internet samsung',
  'google facebook michael jennifer charlie jordan ashley daniel summer winter spring autumn hello',
  'testing test guest demo search402 opensesame freedom shadow mustang corvette liverpool chelsea',
  'zaq12wsx 1q2w3e4r 1qaz2wsx q1w2e3r4 asdfghjkl zxcvbnm',
].flatMap((line) => line.split(' '));

const ROWS = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'asdfghjkl',
  'zxcvbnm',
];
const RUNS = ROWS.flatMap((row) => [row, Array.from(row).reverse().join('')]);

/** What has to be left of a password without its guessable parts. */
const UNGUESSED_MIN = 5;

/**
 * Says what is wrong with a new password: too short, too long, common, a simple pattern, or the
 * person's own address. Nothing when it is good.
 */
export function passwordFault(password: string, email: string): string | undefined {
  const { min, max } = PASSWORD_LENGTH;
  if (password.length < min) return `A password needs at least ${min} characters.`;
  if (password.length > max) return `A password can have at most ${max} characters.`;
  const plain = plainOf(password);
  if (unguessed(plain, addressParts(email)) < UNGUESSED_MIN) {
    return 'This password is too similar to your email address. Choose another one.';
  }
  if (unguessed(plain, COMMON) < UNGUESSED_MIN || isPattern(plain)) {
    return 'This password is too easy to guess. A few unrelated words in a row work well.';
  }
  return undefined;
}

/** Lower case, with the usual stand-ins for letters undone (`P@ssw0rd`). */
function plainOf(password: string): string {
  return password.toLowerCase().replaceAll('@', 'a').replaceAll('$', 's');
}

/** Its whole text, what stands before the @, and the names of the domain; short ones say nothing. */
function addressParts(email: string): readonly string[] {
  const plain = plainOf(email);
  const parts = [
    plain,
    ...email.toLowerCase().split('@'),
    ...email.toLowerCase().split(/[^a-z0-9]+/),
  ];
  return parts.filter((part) => part.length >= 4);
}

/** Letters that are left when the given words, longest first, and everything but letters are out. */
function unguessed(plain: string, words: readonly string[]): number {
  const longestFirst = [...words].sort((a, b) => b.length - a.length);
  const without = (text: string) =>
    longestFirst.reduce((left, word) => left.replaceAll(word, ' '), text);
  const left = without(plain);
  // A password without such words is judged by its pattern alone.
  if (left === plain && without(leetless(plain)) === leetless(plain)) return UNGUESSED_MIN;
  const letters = (text: string) => text.replace(/[^\p{L}]/gu, '').length;
  return Math.min(letters(left), letters(without(leetless(plain))));
}

const leetless = (plain: string) =>
  plain.replace(/[0134579]/g, (digit) => 'oieastg'['0134579'.indexOf(digit)] ?? digit);

/** Few different characters, a repeated piece, or mostly runs of a keyboard, digits or letters. */
function isPattern(plain: string): boolean {
  if (new Set(plain).size < UNGUESSED_MIN) return true;
  if (/^(.{1,6}?)\1+.{0,2}$/u.test(plain)) return true;
  if (/^[\d\s./:-]+$/.test(plain))
    return plain.replace(/\D/g, '').length < 16 || runless(plain) < 5;
  return runless(plain) < UNGUESSED_MIN;
}

const RUN_MIN = 4;

/** Characters that belong to no run of at least four. */
function runless(plain: string): number {
  let left = 0;
  for (let at = 0; at < plain.length;) {
    let length = 0;
    while (length < plain.length - at && isRun(plain.slice(at, at + length + 1))) length += 1;
    if (length >= RUN_MIN) at += length;
    else {
      left += 1;
      at += 1;
    }
  }
  return left;
}

const isRun = (piece: string) => RUNS.some((run) => run.includes(piece));
