import { pino, type Logger } from 'pino';

/** Fields that may never reach a log, however deep an object that is logged has them. */
const SECRET_FIELDS = [
  'authorization',
  'payment-signature',
  'x-payment',
  'privateKey',
  'signature',
];

/** Structured logs on standard output, one JSON object a line. */
export function createLog(level: string): Logger {
  return pino({
    name: 'gateway',
    level,
    redact: { paths: SECRET_FIELDS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]) },
  });
}
