import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';

/** A key on its way from the console in a browser of this machine. */
export interface Receiver {
  /** The fragment of the console's page /command, which says where the key goes. */
  fragment: string;
  /** Resolves with the key. */
  key: Promise<string>;
  close(): void;
}

/** The longest body that is read, in bytes: a key is shorter. */
const longestBody = 200;

/**
 * Listens on this machine only for an API key, which the console hands over in the fragment of a URL, so that it
 * is in no log and in no history (RFC 8252, section 7.3). Whoever does not know the path, which is random, gets a 404.
 */
export async function receiveKey(): Promise<Receiver> {
  const state = randomBytes(24).toString('base64url');
  let resolveKey: (key: string) => void = () => undefined;
  const key = new Promise<string>((resolve) => {
    resolveKey = resolve;
  });
  let origin = '';
  const server = createServer({ requestTimeout: 10_000 }, (request, answer) => {
    // Another site's name that leads to this machine, or another site's page, gets nothing.
    const isOwn = request.headers.host === origin.slice('http://'.length) && request.url === `/${state}`;
    if (isOwn && request.method === 'GET') return sendPage(answer);
    if (isOwn && request.method === 'POST' && request.headers.origin === origin)
      return void takeKey(request, answer).then(
        (taken) => taken && resolveKey(taken),
        () => answer.destroy(),
      );
    answer.writeHead(404, { Connection: 'close' }).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  return {
    fragment: `${port}.${state}.${encodeURIComponent(hostname())}`,
    key,
    close: () => close(server),
  };
}

/** Lets the answer to the page go out first. */
function close(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

async function takeKey(request: IncomingMessage, answer: ServerResponse): Promise<string | undefined> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) {
    body += piece;
    if (body.length > longestBody) break;
  }
  const isKey = body.length <= longestBody && /^cz_live_\S+$/.test(body);
  answer.writeHead(isKey ? 204 : 400, { Connection: 'close' }).end();
  return isKey ? body : undefined;
}

function sendPage(answer: ServerResponse): void {
  const nonce = randomBytes(16).toString('base64');
  answer.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; frame-ancestors 'none'`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  answer.end(page(nonce));
}

/** Takes the key out of the address bar, and out of the history, before anything else. */
const page = (nonce: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Cadiz</title>
<style nonce="${nonce}">
  :root { color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif; }
  main { max-width: 32rem; margin: 20vh auto; padding: 0 1.5rem; }
</style>
<main><h1>Cadiz</h1><p id="said" role="status">One moment …</p></main>
<script nonce="${nonce}">
  const key = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  const say = (words) => { document.getElementById('said').textContent = words; };
  fetch(location.pathname, { method: 'POST', body: key }).then(
    (answer) => say(answer.ok ? 'The command has its key. You can close this page.' : 'No key arrived. Run cadiz login again.'),
    () => say('The command is no longer waiting. Run cadiz login again, and revoke the key that was just created: nothing uses it.'),
  );
</script>
</html>
`;

/** Opens a URL where a browser can be seen. It is no failure if that cannot be done: the URL is shown as well. */
export function openBrowser(url: string, env: NodeJS.ProcessEnv): void {
  const [program, ...args] = browserCommand(env);
  if (!program) return;
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  child.once('error', () => undefined);
  child.unref();
}

function browserCommand({ DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): string[] {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : [];
}
