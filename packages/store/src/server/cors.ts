import type { IncomingMessage, ServerResponse } from 'node:http';
import { checksumAlgorithms } from '../disk/checksum.ts';
import type { CorsRule } from '../disk/index-record.ts';
import type { Store } from '../disk/store.ts';
import { isBucketName } from '../protocol/call.ts';
import { checksumHeader } from '../protocol/checksum-header.ts';
import { S3Error } from '../protocol/s3-error.ts';

// Credentials are in the URL, never in a cookie, so every origin may be let in. On errors too, or a browser could
// not tell its user why an upload was refused. A page with Cross-Origin-Embedder-Policy embeds only what allows it.
export const openCorsHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-expose-headers': [
    'Accept-Ranges',
    'Content-Disposition',
    'Content-Length',
    'Content-Range',
    'ETag',
    'Last-Modified',
    'Location',
    'Retry-After',
    'x-amz-bucket-region',
    ...checksumAlgorithms.map(checksumHeader),
    'x-amz-checksum-type',
    'x-amz-mp-parts-count',
    'x-amz-request-id',
  ].join(', '),
};
const methods = 'GET, HEAD, PUT, POST, DELETE';
const maxAgeSeconds = 7200;
const vary = 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method';

/** Sets the CORS headers of any answer, errors included: by the bucket's rules or, if it has none, for every origin. */
export function setCorsHeaders(
  store: Store,
  bucket: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const rules = findRules(store, bucket);
  if (!rules) {
    for (const [name, value] of Object.entries(openCorsHeaders)) response.setHeader(name, value);
    return;
  }
  response.setHeader('vary', vary);
  const { origin } = request.headers;
  if (origin === undefined || request.method === 'OPTIONS') return;
  const rule = rules.find((candidate) => allows(candidate, origin, request.method ?? ''));
  if (rule) setRuleHeaders(response, rule, origin);
}

/**
 * Answers a CORS preflight (Fetch standard, 4.8), which is not signed.
 *
 * @throws S3Error BadRequest, AccessForbidden
 */
export function answerPreflight(
  store: Store,
  bucket: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const rules = findRules(store, bucket);
  if (rules) setPreflightHeaders(rules, request, response);
  else setOpenPreflightHeaders(request, response);
  response.writeHead(rules ? 200 : 204, rules ? { 'content-length': '0' } : {});
  response.end();
}

function findRules(store: Store, bucket: string | undefined): CorsRule[] | undefined {
  // This runs for every request, including those whose bucket name is not valid.
  return bucket !== undefined && isBucketName(bucket) ? store.index.findBucket(bucket)?.cors : undefined;
}

/** The same whether the bucket exists or not. */
function setOpenPreflightHeaders(request: IncomingMessage, response: ServerResponse): void {
  const requested = request.headers['access-control-request-headers'];
  response.setHeader('access-control-allow-methods', methods);
  if (requested !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~, -]*$/.test(requested)) {
    response.setHeader('access-control-allow-headers', requested);
  }
  response.setHeader('access-control-max-age', String(maxAgeSeconds));
  response.setHeader('vary', 'Access-Control-Request-Headers');
}

function setPreflightHeaders(rules: readonly CorsRule[], { headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  const method = headers['access-control-request-method'];
  if (origin === undefined || method === undefined) {
    throw new S3Error('BadRequest', 'A preflight needs the headers Origin and Access-Control-Request-Method.');
  }
  const requested = (headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  const rule = rules.find(
    (candidate) =>
      allows(candidate, origin, method) &&
      requested.every((name) => candidate.allowedHeaders.some((pattern) => fits(pattern.toLowerCase(), name))),
  );
  if (!rule) {
    throw new S3Error(
      'AccessForbidden',
      `No CORS rule of the bucket allows ${method} from ${origin} with these headers.`,
    );
  }
  setRuleHeaders(response, rule, origin);
  if (requested.length > 0) response.setHeader('access-control-allow-headers', requested.join(', '));
}

function setRuleHeaders(response: ServerResponse, rule: CorsRule, origin: string): void {
  const anyone = rule.allowedOrigins.includes('*');
  response.setHeader('access-control-allow-origin', anyone ? '*' : origin);
  if (!anyone) response.setHeader('access-control-allow-credentials', 'true');
  response.setHeader('access-control-allow-methods', rule.allowedMethods.join(', '));
  if (rule.exposeHeaders.length > 0) {
    response.setHeader('access-control-expose-headers', rule.exposeHeaders.join(', '));
  }
  if (rule.maxAgeSeconds !== undefined) response.setHeader('access-control-max-age', String(rule.maxAgeSeconds));
}

function allows(rule: CorsRule, origin: string, method: string): boolean {
  return rule.allowedMethods.includes(method) && rule.allowedOrigins.some((pattern) => fits(pattern, origin));
}

/** A pattern has at most one `*`, which stands for any characters. */
function fits(pattern: string, text: string): boolean {
  const star = pattern.indexOf('*');
  if (star < 0) return pattern === text;
  const [start, end] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= start.length + end.length && text.startsWith(start) && text.endsWith(end);
}
