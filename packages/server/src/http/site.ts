import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import sirv from 'sirv';

/** Written by the build (`scripts/make-site.mjs`). */
const folder = fileURLToPath(new URL('../../dist/site/', import.meta.url));

const strict = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'";
const frameless = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Redoc writes its styles into the page, and runs its search in a worker made from a blob. */
const ofReference = `${strict.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")} data:; worker-src 'self' blob:`;

/**
 * Serves the pages of the service and the API reference: static files, separate from the API, with their own headers.
 * @param common headers of every answer of the service, as name, value, name, value …
 * @returns a function that says whether it answers a request
 */
export function createSite(common: readonly string[]): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run npm run build`);
  const serve = sirv(folder, {
    brotli: true,
    gzip: true,
    etag: true,
    setHeaders(response, path) {
      for (let i = 0; i + 1 < common.length; i += 2) response.setHeader(common[i] ?? '', common[i + 1] ?? '');
      // Browsers revalidate it each time, and mostly get a 304.
      response.setHeader('Cache-Control', 'no-cache');
      response.setHeader('Content-Security-Policy', `${path.startsWith('/docs') ? ofReference : strict}; ${frameless}`);
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    },
  });
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    // Most requests are for the API and need no lookup among the files.
    if (request.url?.startsWith('/api/')) return false;
    // If a file cannot be read, for example because descriptors have run out, only this answer fails.
    response.once('pipe', (file: Readable) => file.once('error', () => response.destroy()));
    let answers = true;
    serve(request, response, () => {
      answers = false;
    });
    return answers;
  };
}
