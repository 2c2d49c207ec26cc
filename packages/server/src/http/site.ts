import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { routes } from '@cadiz/contract';
import sirv from 'sirv';

/** Written by the build (`scripts/make-site.mjs`). */
const folder = fileURLToPath(new URL('../../dist/site/', import.meta.url));

const frameless = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Redoc writes its styles into the page, and runs its search in a worker made from a blob. */
const ofReference =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; worker-src 'self' blob:";

/** The paths of the console's pages. It shows what is there, and says so if there is nothing. */
const consolePages =
  /^\/(?:[?]|$|(?:setup|sign-in|forgot-password|invitation|reset-password|verify-email|projects|account|users|system)(?:[/?]|$))/;

/** What the paths of the API begin with. */
const ofApi = new Set(Object.values(routes).map(({ path }) => path.split('/')[1]));

/** Whether somebody opens a page in a browser, at a path that does not belong to the API. */
const isVisit = ({ url = '/', headers }: IncomingMessage): boolean =>
  headers.accept?.includes('text/html') === true && !ofApi.has(url.split(/[/?]/)[1]);

const wantsJson = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  accept.includes('application/json') && !accept.includes('text/html');

/** The codings of an Accept-Encoding without those that it rules out (RFC 9110, 12.5.3): sirv takes all that are named for accepted. */
const withoutRefused = (codings: string): string =>
  codings
    .split(',')
    .filter((coding) => !/;\s*q=0(?:\.0*)?\s*$/i.test(coding))
    .join(',');

/** What the console may load and send: nothing but its own, and the files, which lie in the object store. */
function toConsolePolicy(storeUrl: string): string {
  const store = new URL(storeUrl).origin;
  return [
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; manifest-src 'self'",
    `connect-src 'self' ${store}`,
    `img-src 'self' data: blob: ${store}`,
    `media-src 'self' blob: ${store}`,
    // What is saved goes through a frame.
    `frame-src 'self' blob: ${store}`,
  ].join('; ');
}

function toCaching(path: string): string {
  // Names of assets change with what is in them.
  if (path.startsWith('/assets/')) return 'public, max-age=31536000, immutable';
  // Browsers keep the console as it was left for whoever goes back, also after signing out, unless its page is not to be stored.
  if (path === '/') return 'no-store';
  // Anything else is revalidated each time, and mostly gets a 304.
  return 'no-cache';
}

/**
 * Serves the console and the API reference: static files, separate from the API, with their own headers.
 * @param common headers of every answer of the service, as name, value, name, value …
 * @param storeUrl at which browsers reach the object store
 * @returns a function that says whether it answers a request
 */
export function createSite(
  common: readonly string[],
  storeUrl: string,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run npm run build`);
  const ofConsole = toConsolePolicy(storeUrl);
  function setHeaders(response: ServerResponse, path: string): void {
    response.setHeader('X-Request-Id', randomUUID());
    for (let i = 0; i + 1 < common.length; i += 2) response.setHeader(common[i] ?? '', common[i + 1] ?? '');
    response.setHeader('Cache-Control', toCaching(path));
    response.setHeader(
      'Content-Security-Policy',
      `${path.startsWith('/docs') ? ofReference : ofConsole}; ${frameless}`,
    );
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  }
  const serve = sirv(folder, { brotli: true, gzip: true, etag: true, setHeaders });
  const consolePage = readFileSync(`${folder}index.html`);
  /** The console says that there is nothing, and leads to what there is. */
  function answerNotFound(response: ServerResponse): void {
    setHeaders(response, '/');
    response.writeHead(404, { 'Content-Type': 'text/html;charset=utf-8', 'Content-Length': consolePage.length });
    response.end(consolePage);
  }
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    const { url = '/', headers } = request;
    // Most requests are for the API and need no lookup among the files.
    if (url.startsWith('/api/')) return false;
    if (consolePages.test(url)) {
      // Programs that ask for `/` as JSON get the name and the version.
      if (/^\/(?:\?|$)/.test(url) && wantsJson(request)) return false;
      request.url = '/';
    }
    response.once('pipe', (file: Readable) => {
      // If a file cannot be read, for example because descriptors have run out, only this answer fails.
      file.once('error', () => response.destroy());
      // sirv would leave it open for ever if the client leaves before its end.
      response.once('close', () => file.destroy());
    });
    // A server may answer a range with the whole (RFC 9110, 14.2). sirv throws if one ends before it begins.
    const { range, 'accept-encoding': codings } = headers;
    headers.range = undefined;
    headers['accept-encoding'] = codings && withoutRefused(codings);
    let answers = true;
    serve(request, response, () => {
      answers = isVisit(request);
      if (answers) answerNotFound(response);
    });
    request.url = url;
    headers.range = range;
    headers['accept-encoding'] = codings;
    return answers;
  };
}
