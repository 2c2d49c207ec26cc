import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** A page of somebody's app: another origin than the service's, with the client bundled as an app would. */
export interface ClientPage {
  url: string;
  close(): Promise<void>;
}

/**
 * Serves an empty page whose script makes the client's exports global.
 *
 * @param answer answers the app's own routes, such as the one that gives tickets
 * @param mode which React is in it
 */
export async function startClientPage(
  answer: (request: Request) => Promise<Response>,
  mode: 'production' | 'development' = 'production',
): Promise<ClientPage> {
  const script = await bundle(mode);
  const server = http.createServer((request, response) => {
    const { url = '/', method = 'GET' } = request;
    if (url === '/')
      return response.setHeader('Content-Type', 'text/html').end('<script type="module" src="/app.js"></script>');
    if (url === '/app.js') return response.setHeader('Content-Type', 'text/javascript').end(script);
    if (url === '/favicon.ico') return response.writeHead(404).end();
    return answer(new Request(`http://app.test${url}`, { method })).then(async (given) =>
      response.writeHead(given.status, Object.fromEntries(given.headers)).end(await given.text()),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The client and its React hooks as one script for browsers. */
export async function bundle(mode = 'production'): Promise<string> {
  const entry = '\0entry';
  const resolve = (path: string) => fileURLToPath(new URL(`../packages/client/dist/${path}`, import.meta.url));
  const code = `
    import * as cadiz from ${JSON.stringify(resolve('index.js'))};
    import * as hooks from ${JSON.stringify(resolve('react.js'))};
    import * as react from 'react';
    import { createRoot } from 'react-dom/client';
    Object.assign(globalThis, { cadiz, hooks, react, createRoot });`;
  const built = await rolldown({
    input: entry,
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': JSON.stringify(mode) } },
    plugins: [
      { name: 'entry', resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? code : null) },
    ],
  });
  const { output } = await built.generate({ format: 'es', minify: true });
  return output[0].code;
}
