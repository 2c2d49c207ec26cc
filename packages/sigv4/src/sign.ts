import { hash } from 'node:crypto';
import {
  algorithm,
  amzDateOf,
  canonicalHeaderValue,
  canonicalRequest,
  compare,
  stringToSign,
} from './canonical-request.ts';
import { type Credentials, requireHeader, requireScopeText } from './credentials.ts';
import { signingKey } from './signing-key.ts';

/** A request to send with an `Authorization` header. */
export interface SignRequest {
  method: string;
  /** as in the Host header: without :80 for http, without :443 for https */
  host: string;
  /** unencoded absolute path: /bucket/key. Send it as `uriEncodePath` encodes it. */
  path: string;
  query?: Record<string, string>;
  /** all of them are signed */
  headers?: Record<string, string>;
  /** hexadecimal SHA-256 of the body, or UNSIGNED-PAYLOAD */
  payloadHash: string;
  /** Date, or milliseconds since 1970 */
  now: Date | number;
}

/** SHA-256 of no bytes: the payload hash of GET, HEAD and DELETE. */
export const emptyPayloadHash = hash('sha256', '', 'hex');

/**
 * Signs requests with a header ("Signature Calculations for the Authorization Header: Transferring Payload in a Single
 * Chunk"). Returns every header to send, names in lower case: the given ones, host, x-amz-date,
 * x-amz-content-sha256 and authorization.
 *
 * @throws TypeError for an unusable region, key id or header, URIError for a path or query with lone surrogates.
 */
export function createRequestSigner(
  options: Credentials & { region: string },
): (request: SignRequest) => Record<string, string> {
  const region = requireScopeText('region', options.region);
  const accessKeyId = requireScopeText('accessKeyId', options.accessKeyId);
  return (request) => {
    const amzDate = amzDateOf(request.now);
    const date = amzDate.slice(0, 8);
    const scope = `${date}/${region}/s3/aws4_request`;
    const headers = headersToSign(request, amzDate);
    const canonical = canonicalRequest({
      method: request.method,
      path: request.path,
      query: Object.entries(request.query ?? {}),
      headers: headers.map(([name, value]) => [name, canonicalHeaderValue([value])]),
      payloadHash: request.payloadHash,
    });
    const sign = signingKey(options.secretAccessKey, date, region);
    const signature = sign(stringToSign(amzDate, scope, hash('sha256', canonical, 'hex')));
    const names = headers.map(([name]) => name).join(';');
    const authorization = `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return { ...Object.fromEntries(headers), authorization };
  };
}

function headersToSign(request: SignRequest, amzDate: string): [string, string][] {
  const all = new Map(
    Object.entries(request.headers ?? {}).map(([name, value]) => requireHeader(name.toLowerCase(), value)),
  );
  all.set('host', request.host);
  all.set('x-amz-date', amzDate);
  all.set('x-amz-content-sha256', request.payloadHash);
  return [...all].sort(([a], [b]) => compare(a, b));
}
