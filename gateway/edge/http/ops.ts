import express, { type Express, type RequestHandler } from 'express';
import type { Health } from '../../ground/observe/health.js';
import type { Metrics } from '../../ground/observe/metrics.js';

export interface HealthRoutes {
  /** Whether the process runs. */
  readonly live: RequestHandler;
  /** Whether it should get searches with keys. */
  readonly ready: RequestHandler;
  /** Whether it should get payments. */
  readonly readyForPayments: RequestHandler;
}

const word = (isReady: boolean) => (isReady ? 'ready' : 'not ready');

/** Whether the process runs, and whether it should get traffic. */
export function healthRoutes(health: Health): HealthRoutes {
  return {
    live: (_request, response) => {
      response.json({ status: 'live' });
    },
    ready: async (_request, response) => {
      const { keys, payments } = await health.check();
      response.status(keys ? 200 : 503).json({ status: word(keys), payments: word(payments) });
    },
    readyForPayments: async (_request, response) => {
      const { payments } = await health.check();
      response.status(payments ? 200 : 503).json({ status: word(payments) });
    },
  };
}

/** The operator's face, on an address of its own: metrics, and readiness part by part. */
export function opsApp(health: Health, metrics: Metrics): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/livez', healthRoutes(health).live);
  app.get('/readyz', async (_request, response) => {
    const { keys, payments, parts } = await health.check();
    const status = word(keys);
    response.status(keys ? 200 : 503).json({ status, payments: word(payments), parts });
  });
  app.get('/readyz/payments', async (_request, response) => {
    const { payments, parts } = await health.check();
    response.status(payments ? 200 : 503).json({ status: word(payments), parts });
  });
  app.get('/metrics', async (_request, response) => {
    const { body, contentType } = await metrics.text();
    response.type(contentType).send(body);
  });
  return app;
}
