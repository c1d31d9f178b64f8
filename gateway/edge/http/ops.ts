import express, { type Express, type RequestHandler } from 'express';
import type { Health } from '../../ground/observe/health.js';
import type { Metrics } from '../../ground/observe/metrics.js';

/** Whether the process runs, and whether it should get traffic. */
export function healthRoutes(health: Health): { live: RequestHandler; ready: RequestHandler } {
  return {
    live: (_request, response) => {
      response.json({ status: 'live' });
    },
    ready: async (_request, response) => {
      const { ready } = await health.check();
      response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
    },
  };
}

/** The operator's face, on an address of its own: metrics, and readiness part by part. */
export function opsApp(health: Health, metrics: Metrics): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/livez', healthRoutes(health).live);
  app.get('/readyz', async (_request, response) => {
    const { ready, parts } = await health.check();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', parts });
  });
  app.get('/metrics', async (_request, response) => {
    const { body, contentType } = await metrics.text();
    response.type(contentType).send(body);
  });
  return app;
}
