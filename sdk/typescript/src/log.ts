/** Where the client's log goes; `console` fits. */
export interface Logger {
  debug(message: string, fields: object): void;
  info(message: string, fields: object): void;
  warn(message: string, fields: object): void;
  error(message: string, fields: object): void;
}

/** Each level shows itself and what is graver. */
export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug';

const LEVELS: readonly LogLevel[] = ['off', 'error', 'warn', 'info', 'debug'];

export function isLogLevel(text: string): text is LogLevel {
  return (LEVELS as readonly string[]).includes(text);
}

const SECRET = /authorization|cookie|api-?key|payment-signature|x-payment$|header|signature/i;
/** A key, a bearer token or 65 bytes of signature inside any other text. */
const SECRET_TEXT = /s402_[A-Za-z0-9_]{8,}|Bearer\s+\S+|0x[0-9a-fA-F]{130,}/g;

/** Replaces everything that could be spent or used to log in. */
function redact(value: unknown, name = ''): unknown {
  if (SECRET.test(name) && typeof value !== 'object') return '[redacted]';
  if (typeof value === 'string') return value.replace(SECRET_TEXT, '[redacted]');
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Headers) return redact(Object.fromEntries(value.entries()), name);
  if (value instanceof Error) return `${value.name}: ${String(redact(value.message))}`;
  if (Array.isArray(value)) return value.map((item) => redact(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item, key)]));
}

/** A logger that passes on what the level allows, without secrets. */
export function redactingLogger(target: Logger, level: LogLevel): Logger {
  const at =
    (name: Exclude<LogLevel, 'off'>) =>
    (message: string, fields: object): void => {
      if (LEVELS.indexOf(name) > LEVELS.indexOf(level)) return;
      target[name](`search402: ${message}`, redact(fields) as object);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
