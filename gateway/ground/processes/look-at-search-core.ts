import { request, type RequestOptions } from 'node:http';

/** Asks search-core at `http://host:port` or `unix:/path` whether it can search; rejects with why not. */
export function lookAtSearchCore(url: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { ...placeOf(url), path: readyPath(url), signal, agent: false },
      (answer) => {
        answer.resume();
        answer.once('error', reject);
        answer.once('end', () => {
          const { statusCode = 0 } = answer;
          if (statusCode === 200) resolve();
          else reject(new Error(`search-core says that it is not ready (${statusCode})`));
        });
      },
    );
    asked.once('error', (error) => {
      reject(new Error(`search-core does not answer (${error.message})`));
    });
    asked.end();
  });
}

function placeOf(url: string): RequestOptions {
  if (url.startsWith('unix:')) return { socketPath: url.slice('unix:'.length) };
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port || '80' };
}

const readyPath = (url: string) =>
  url.startsWith('unix:') ? '/readyz' : `${new URL(url).pathname.replace(/\/$/, '')}/readyz`;
