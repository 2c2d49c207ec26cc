import { type OperationId, type Route, routes, takesKeys, takesTickets } from '@cadiz/contract';
import type { Exchange } from './exchange.ts';
import { findOperations } from './router.ts';

const oneYearSeconds = 365 * 24 * 3600;

/**
 * The headers of every answer, as name, value, name, value …: nobody may store it, guess its type, run or frame it,
 * embed it in a page of another origin, or learn the URL that led to it. An answer that sets one of them itself keeps
 * its own value.
 * @see OWASP ASVS 5.0 §3.4
 */
export function toCommonHeaders(publicUrl: string): readonly string[] {
  return [
    ...['Cache-Control', 'no-store'],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Content-Security-Policy', "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cross-Origin-Resource-Policy', 'same-origin'],
    ...(publicUrl.startsWith('https:')
      ? ['Strict-Transport-Security', `max-age=${oneYearSeconds}; includeSubDomains`]
      : []),
  ];
}

/** Only routes that accept a key or a ticket: routes that require a session cookie are for pages of the service itself. */
const forAllOrigins = new Set(
  (Object.entries(routes) as [OperationId, Route][])
    .filter(([, route]) => takesKeys(route) || takesTickets(route))
    .map(([operation]) => operation),
);
const exposed = 'X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Cadiz-Warning';

/** Files that anybody opens with what stands in their URL. Caches keep one answer for all origins. */
const filesForAll: ReadonlySet<OperationId> = new Set<OperationId>(['openLink', 'openImage']);
const exposedOfFiles = 'X-Request-Id, Retry-After, Accept-Ranges, Content-Disposition, Content-Range, ETag';

/**
 * Lets pages of any origin read files that are for anybody, and answers to a key or ticket. Credentials are never
 * allowed: a cookie opens nothing here, and pages of other origins cannot read answers to one.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function allowOrigins(exchange: Exchange): void {
  const names = findExposed(exchange);
  if (names === undefined) return;
  exchange.extraHeaders.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', names);
}

/** The headers that pages of other origins may read; undefined if they may not read the answer. */
function findExposed(exchange: Exchange): string | undefined {
  const { operation } = exchange;
  if (operation === undefined) return undefined;
  if (filesForAll.has(operation)) return exposedOfFiles;
  return forAllOrigins.has(operation) && exchange.headers.origin !== undefined ? exposed : undefined;
}

/** What pages may send along: beside the credential, conditions and ranges for files, where a stream of events goes on, and a trace. */
const allowedHeaders =
  'Authorization, Content-Type, If-Match, If-None-Match, If-Range, Last-Event-ID, Range, Traceparent';

/** How long browsers may cache a preflight. None caches it for longer. */
const preflightSeconds = '7200';

/** @returns undefined if the request is no preflight, or for a path that is not for pages of other origins */
export function answerPreflight(exchange: Exchange): Response | undefined {
  if (exchange.method !== 'OPTIONS' || exchange.headers.origin === undefined) return undefined;
  if (exchange.headers['access-control-request-method'] === undefined) return undefined;
  const methods = findOperations(exchange.path)
    .filter((operation) => forAllOrigins.has(operation) || filesForAll.has(operation))
    .map((operation) => routes[operation].method);
  if (methods.length === 0) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': methods.join(', '),
      'Access-Control-Allow-Headers': allowedHeaders,
      'Access-Control-Max-Age': preflightSeconds,
    },
  });
}
