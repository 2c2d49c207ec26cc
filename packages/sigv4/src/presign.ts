import { hash } from 'node:crypto';
import {
  algorithm,
  amzDateOf,
  canonicalHeaderValue,
  canonicalQuery,
  compare,
  stringToSign,
  unsignedPayload,
} from './canonical-request.ts';
import { type Credentials, requireHeader, requireScopeText } from './credentials.ts';
import { parseQuery, uriEncode, uriEncodePath } from './encode.ts';
import { type Sign, signingKey } from './signing-key.ts';

/** The request that a presigned URL allows. */
export interface PresignRequest {
  method: 'GET' | 'PUT' | 'HEAD' | 'DELETE' | 'POST';
  bucket: string;
  /** unencoded, without a leading slash that is not part of it */
  key: string;
  /** whole seconds, 1 to 604800 */
  expiresInSeconds: number;
  /** Date, or milliseconds since 1970 */
  now: Date | number;
  /** bytes; signed, so that a body of any other length is refused */
  contentLength?: number;
  /** further query parameters, all signed: response-content-type, partNumber, uploadId … */
  query?: Record<string, string> | undefined;
  /** further signed headers, names in lower case; the holder must send them with exactly these values */
  headers?: Record<string, string>;
}

export interface PresignOptions extends Credentials {
  region: string;
  /** `http(s)://host[:port][/base]` as reached by the holder of the URL */
  endpoint: string;
}

/** The longest that a URL can be valid: seven days. */
export const maxExpiresInSeconds = 604_800;

/** What all URLs signed within one second have in common. */
interface Second {
  at: number;
  /** the string to sign without the hash at its end */
  toSign: string;
  /** the query up to the value of X-Amz-Expires */
  query: string;
  /** whole queries, by lifetime and names of signed headers: most URLs differ in neither */
  queries: Map<string, string>;
  /** The last whole query with further parameters: those of a page of thumbnails differ in nothing. */
  last: { ownQuery: string; parameters: string; query: string } | undefined;
  sign: Sign;
}

/**
 * Makes presigned URLs in path style, with an unsigned payload ("Authenticating Requests: Using Query Parameters").
 * `host` is always signed. Everything that depends only on the time is computed once a second.
 *
 * @throws TypeError for an unusable endpoint, region or key id; the returned function throws RangeError for a lifetime
 *   or length out of range, TypeError for an unusable header and URIError for strings with lone surrogates.
 */
export function createPresigner(options: PresignOptions): (request: PresignRequest) => string {
  const { origin, host, base } = parseEndpoint(options.endpoint);
  const region = requireScopeText('region', options.region);
  const accessKeyId = requireScopeText('accessKeyId', options.accessKeyId);
  let second: Second | undefined;

  function secondOf(now: Date | number): Second {
    const at = Math.floor(Number(now) / 1000);
    if (second?.at === at) return second;
    const amzDate = amzDateOf(at * 1000);
    const scope = `${amzDate.slice(0, 8)}/${region}/s3/aws4_request`;
    const credential = uriEncode(`${accessKeyId}/${scope}`);
    second = {
      at,
      toSign: stringToSign(amzDate, scope, ''),
      query: `X-Amz-Algorithm=${algorithm}&X-Amz-Credential=${credential}&X-Amz-Date=${amzDate}&X-Amz-Expires=`,
      queries: new Map(),
      last: undefined,
      sign: signingKey(options.secretAccessKey, amzDate.slice(0, 8), region),
    };
    return second;
  }

  return (request) => {
    requireRanges(request);
    const of = secondOf(request.now);
    const { lines, names } = signedHeaders(request, host);
    const path = `${base}/${uriEncode(request.bucket)}/${uriEncodePath(request.key)}`;
    const ownQuery = queryOf(of, request.expiresInSeconds, names);
    const query = request.query ? withLastQuery(of, ownQuery, request.query) : ownQuery;
    const canonical = `${request.method}\n${path}\n${query}\n${lines}\n${names}\n${unsignedPayload}`;
    const signature = of.sign(of.toSign + hash('sha256', canonical, 'hex'));
    return `${origin}${path}?${query}&X-Amz-Signature=${signature}`;
  };
}

function queryOf({ query, queries }: Second, expiresInSeconds: number, names: string): string {
  const kind = expiresInSeconds + names;
  const known = queries.get(kind);
  if (known !== undefined) return known;
  const made = `${query}${expiresInSeconds}&X-Amz-SignedHeaders=${names.replaceAll(';', '%3B')}`;
  queries.set(kind, made);
  return made;
}

function parseEndpoint(endpoint: string): { origin: string; host: string; base: string } {
  const url = new URL(endpoint);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  if (!isHttp || url.username || url.password || url.search || url.hash) {
    throw new TypeError('endpoint must look like http(s)://host[:port][/base].');
  }
  // URL omits the default port and writes the host in lower case, as clients send it.
  const base = uriEncodePath(decodeURIComponent(url.pathname)).replace(/\/+$/, '');
  return { origin: url.origin, host: url.host, base };
}

function requireRanges({ expiresInSeconds, contentLength }: PresignRequest): void {
  if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > maxExpiresInSeconds) {
    throw new RangeError(`expiresInSeconds must be a whole number from 1 to ${maxExpiresInSeconds}.`);
  }
  if (contentLength !== undefined && (!Number.isSafeInteger(contentLength) || contentLength < 0)) {
    throw new RangeError('contentLength must be a whole number of bytes, 0 or more.');
  }
}

function signedHeaders({ contentLength, headers }: PresignRequest, host: string): { lines: string; names: string } {
  if (headers) return sortedHeaders(headers, contentLength, host);
  if (contentLength === undefined) return { lines: `host:${host}\n`, names: 'host' };
  return { lines: `content-length:${contentLength}\nhost:${host}\n`, names: 'content-length;host' };
}

function sortedHeaders(headers: Record<string, string>, contentLength: number | undefined, host: string) {
  const all = new Map(Object.entries(headers).map(([name, value]) => requireHeader(name, value)));
  if (contentLength !== undefined) all.set('content-length', `${contentLength}`);
  all.set('host', host);
  const sorted = [...all].sort(([a], [b]) => compare(a, b));
  return {
    lines: sorted.map(([name, value]) => `${name}:${canonicalHeaderValue([value])}\n`).join(''),
    names: sorted.map(([name]) => name).join(';'),
  };
}

function withLastQuery(of: Second, ownQuery: string, query: Record<string, string>): string {
  const parameters = JSON.stringify(query);
  if (of.last?.ownQuery === ownQuery && of.last.parameters === parameters) return of.last.query;
  of.last = { ownQuery, parameters, query: withQuery(ownQuery, query) };
  return of.last.query;
}

/** Sorts all parameters together, as the signature requires. */
function withQuery(ownQuery: string, query: Record<string, string>): string {
  return canonicalQuery([...parseQuery(ownQuery), ...Object.entries(query)]);
}
