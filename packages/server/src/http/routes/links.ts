import { LinkParams, LinkQuery } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { type LinkedFile, openLink as openLinked } from '../../features/links/open-link.ts';
import { signLink, toCacheSeconds } from '../../features/links/sign-link.ts';
import { streamLink } from '../../features/links/stream-link.ts';
import { toServedFile } from '../../features/links/to-served-file.ts';
import { mayVary } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import { toAddressBlock } from '../../rate-limits/address-block.ts';
import { toContentDisposition } from '../../serving/content-disposition.ts';
import { toServed } from '../../serving/served-type.ts';
import { clientAddress } from '../client-address.ts';
import { type Exchange, type Handler, redirectedMethod } from '../exchange.ts';
import { toWanted } from '../file-range.ts';
import { readParams, readQuery } from '../input.ts';
import { toLoggedRequest } from '../logged-request.ts';
import { streamBytes } from '../stream-bytes.ts';
import { whileConnected } from '../while-connected.ts';

/** Links are for pages of any origin, which may show the file, or read it. */
const forAnybody = { 'Cross-Origin-Resource-Policy': 'cross-origin' };

export const openLink: Handler = async (deps, exchange) => {
  const { token } = readParams(exchange, LinkParams);
  const query = readQuery(exchange, LinkQuery);
  const linked = await openLinked(deps, token);
  if (mayVary(linked.options ?? query)) exchange.extraHeaders.push('Vary', 'Accept');
  const file = await toServedFile(deps, linked, query, exchange.headers.accept);
  return deps.config.linksStream ? sendFile(deps, exchange, file) : redirectToFile(deps, exchange, file);
};

function redirectToFile(deps: Deps, exchange: Exchange, file: LinkedFile): Response {
  const { url, cacheSeconds } = signLink(deps, file, redirectedMethod(exchange));
  const cache = cacheSeconds > 0 ? `public, max-age=${cacheSeconds}` : 'no-store';
  return new Response(null, { status: 302, headers: { ...forAnybody, Location: url, 'Cache-Control': cache } });
}

async function sendFile(deps: Deps, exchange: Exchange, file: LinkedFile): Promise<Response> {
  const size = file.fileSize;
  const headers = toFileHeaders(deps, file);
  const conditions = {
    ifMatch: exchange.headers['if-match'],
    ifNoneMatch: exchange.headers['if-none-match'],
    ifRange: exchange.headers['if-range'],
    range: exchange.method === 'GET' ? exchange.headers.range : undefined,
  };
  const wanted = toWanted(conditions, headers.ETag, size);
  if (wanted.kind === 'unchanged') return new Response(null, { status: 304, headers });
  if (wanted.kind === 'another') throw new Problem('precondition_failed');
  if (wanted.kind === 'beyond') {
    throw new Problem('range_not_satisfiable', undefined, { headers: { 'Content-Range': `bytes */${size}` } });
  }
  const { start, end } = wanted.kind === 'part' ? wanted : { start: 0, end: size - 1 };
  const length = end - start + 1;
  const ofBody = {
    ...headers,
    'Content-Length': `${length}`,
    ...(wanted.kind === 'part' && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  };
  const status = wanted.kind === 'part' ? 206 : 200;
  if (exchange.method === 'HEAD') return new Response(null, { status, headers: ofBody });
  const address = toAddressBlock(clientAddress(deps, exchange));
  return (await whileConnected(exchange, async ({ signal }) => {
    const { bytes, lost, close } = await streamLink(deps, file, { start, length }, address, signal);
    const about = () => toLoggedRequest(exchange);
    const body = streamBytes(bytes, { what: 'A file of a link', close, log: deps.log, about, cutOff: lost });
    return new Response(body, { status, headers: ofBody });
  })) as Response;
}

/** The bytes come from the service's own origin, so a browser must neither run nor frame them (decision 0017). */
function toFileHeaders(deps: Deps, file: LinkedFile) {
  const { contentType, disposition } = toServed(file.mimeType, file.disposition);
  const cacheSeconds = toCacheSeconds(deps, file);
  // Chromium's player opens audio and video in a document that may not load them when sandboxed.
  const sandbox = /^(?:audio|video)\//.test(contentType) ? '' : '; sandbox';
  return {
    ...forAnybody,
    'Content-Type': contentType,
    'Content-Disposition': toContentDisposition(disposition, file.fileName),
    'Content-Security-Policy': `default-src 'none'${sandbox}`,
    'Cache-Control': cacheSeconds > 0 ? `public, max-age=${cacheSeconds}, immutable` : 'no-store',
    'Accept-Ranges': 'bytes',
    ETag: `"${file.etag}"`,
  };
}
