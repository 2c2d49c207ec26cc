import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

interface Backend {
  port: number;
  isUp: boolean;
  /** How many checks in a row have said the opposite. */
  contrary: number;
  agent: http.Agent;
}

export interface Proxy {
  url: string;
  isUp(port: number): boolean;
  close(): Promise<void>;
}

const checkEveryMilliseconds = 2_000;
/** How many checks in a row take a backend out, and how many bring it back. */
const checksToFall = 1;
const checksToRise = 2;
/** A busy machine must not look like a backend that is down. */
const patienceMilliseconds = 30_000;

/**
 * A typical reverse proxy: requests go to the backends in turn over persistent connections, `GET /readyz` every two
 * seconds decides which backends get any, and a failed request is not sent again.
 */
export async function startProxy(ports: readonly number[]): Promise<Proxy> {
  const backends: Backend[] = ports.map((port) => ({
    port,
    isUp: true,
    contrary: 0,
    agent: new http.Agent({ keepAlive: true }),
  }));
  let turn = 0;

  const server = http.createServer((request, response) => {
    turn += 1;
    const up = backends.filter(({ isUp }) => isUp);
    const backend = up[turn % up.length];
    if (!backend) {
      response.writeHead(503).end('no backend is up');
      return;
    }
    const { method, url, headers } = request;
    const passedOn = http.request(
      { port: backend.port, agent: backend.agent, method, path: url, headers },
      (answer) => {
        const { connection: _, ...rest } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, rest);
        answer.pipe(response);
      },
    );
    passedOn.on('error', (error) => response.writeHead(502).end(`${backend.port}: ${error}`));
    request.pipe(passedOn);
  });
  server.listen(0, '127.0.0.1');

  const closed = new AbortController();
  const checking = Promise.all(
    backends.map(async (backend) => {
      while (!closed.signal.aborted) {
        const isReady = await checkReady(backend.port);
        backend.contrary = isReady === backend.isUp ? 0 : backend.contrary + 1;
        if (backend.contrary >= (isReady ? checksToRise : checksToFall))
          Object.assign(backend, { isUp: isReady, contrary: 0 });
        await delay(checkEveryMilliseconds, undefined, { signal: closed.signal }).catch(() => undefined);
      }
    }),
  );
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not a TCP address');
  return {
    url: `http://127.0.0.1:${address.port}`,
    isUp: (port) => backends.some((backend) => backend.port === port && backend.isUp),
    async close() {
      closed.abort();
      await checking;
      for (const { agent } of backends) agent.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

async function checkReady(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(patienceMilliseconds);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal, headers: { Connection: 'close' } });
    await answer.text();
    return answer.status === 200;
  } catch {
    return false;
  }
}
