import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalHeaderValue, canonicalRequest, stringToSign } from './canonical-request.ts';
import { type ChunkSigner, createChunkSigner } from './chunk-signer.ts';
import { type Claim, type Headers, readClaim } from './claim.ts';
import { parseRequestTarget, type RequestTarget } from './encode.ts';
import { type Refused, refuse } from './refusal.ts';
import { signingKey } from './signing-key.ts';

/** A request as it came over the wire, unparsed. */
export interface VerifyRequest {
  method: string;
  /** the request target: path and query */
  rawUrl: string;
  /** Node's `req.rawHeaders`: name, value, name, value */
  rawHeaders: readonly string[];
  /** Date, or milliseconds since 1970 */
  now: Date | number;
}

export interface VerifyOptions {
  region: string;
  findSecretAccessKey: (accessKeyId: string) => string | undefined;
}

/** A request whose signature is valid. */
export type Verified = {
  ok: true;
  mode: 'header' | 'query';
  accessKeyId: string;
  /** x-amz-content-sha256 as signed: the body's SHA-256, UNSIGNED-PAYLOAD or STREAMING-…; the reader of the body must enforce it */
  payloadHash: string;
  /** lower-case names */
  signedHeaders: ReadonlySet<string>;
  /** query mode only */
  expiresAt?: Date;
  /** only in header mode with a STREAMING-AWS4-HMAC-SHA256-PAYLOAD payload: computes the expected signatures in the body */
  chunkSigner?: ChunkSigner;
};

/** How far ahead a presigned URL may be dated, and how far off the date of a signed request may be. */
export const toleranceMs = 15 * 60 * 1000;
// If sent twice, a server might obey one of these headers while the signature covers the other.
const onceOnly = new Set(['host', 'content-length', 'authorization']);
// A list, of which some SDKs send each item in a line of its own. All of them are signed, and obeyed.
const repeatable = 'x-amz-object-attributes';

/**
 * Verifies a request, or says why it is refused ("Authenticating Requests (AWS Signature Version 4)"). Stricter than S3 in
 * two ways: `host` and every `x-amz-*` header must be signed, because the holder of a presigned URL could otherwise add
 * `x-amz-copy-source` or `x-amz-acl` to it.
 *
 * It never reads the body. A signed content-length is only compared as a header; the reader of the body must count.
 */
export function verifyRequest(request: VerifyRequest, options: VerifyOptions): Verified | Refused {
  const target = parseRequestTarget(request.rawUrl);
  if (!target) return refuse(400, 'InvalidURI', 'The URL is not percent-encoded UTF-8. Encode it again.');
  const headers = readHeaders(request.rawHeaders);
  const repeated = findRepeated(headers);
  if (repeated) return refuse(400, 'InvalidArgument', `The header ${repeated} was sent twice. Send it once.`);
  const claim = readClaim(target, headers);
  if (!claim.ok) return claim;
  const refused =
    checkScope(claim, scopeErrors[claim.mode], options.region) ??
    checkTime(claim, Number(request.now)) ??
    checkSignedHeaders(claim, headers);
  if (refused) return refused;
  const secretAccessKey = options.findSecretAccessKey(claim.accessKeyId);
  if (secretAccessKey === undefined) {
    return refuse(403, 'InvalidAccessKeyId', 'The access key id is not known here. Check the credentials.');
  }
  const expected = expectedSignature(request.method, target, headers, claim, secretAccessKey);
  return equals(claim.signature, expected) ? verified(claim, secretAccessKey) : signatureDoesNotMatch();
}

function readHeaders(rawHeaders: readonly string[]): Headers {
  const headers = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    const values = headers.get(name);
    if (values) values.push(value);
    else headers.set(name, [value]);
  }
  return headers;
}

function findRepeated(headers: Headers): string | undefined {
  for (const [name, values] of headers) {
    if (values.length < 2 || name === repeatable) continue;
    if (onceOnly.has(name) || name.startsWith('x-amz-')) return name;
  }
  return undefined;
}

const scopeErrors = { query: 'AuthorizationQueryParametersError', header: 'AuthorizationHeaderMalformed' };

/** Checks that a credential is for this region and service, and for the day of the signature; otherwise refuses with `code`. */
export function checkScope(
  { scope, amzDate }: Pick<Claim, 'scope' | 'amzDate'>,
  code: string,
  region: string,
): Refused | undefined {
  if (scope.terminator !== 'aws4_request') return refuse(400, code, 'The credential must end in "aws4_request".');
  if (scope.service !== 's3') return refuse(400, code, 'The credential is for another service. Sign for "s3".');
  if (scope.region !== region) {
    return { ...refuse(400, code, `The credential is for another region. Sign for "${region}".`), region };
  }
  if (scope.date !== amzDate.slice(0, 8)) {
    return refuse(400, code, 'The date in the credential is not the day of X-Amz-Date. Sign again.');
  }
  return undefined;
}

function checkTime(claim: Claim, now: number): Refused | undefined {
  if (claim.expiresInSeconds === undefined) {
    if (Math.abs(now - claim.signedAt) <= toleranceMs) return undefined;
    const message = 'The clocks of client and server differ by more than 15 minutes. Correct them and sign again.';
    return refuse(403, 'RequestTimeTooSkewed', message);
  }
  if (claim.signedAt - now > toleranceMs) {
    const message = 'The URL is dated more than 15 minutes ahead. Correct the clock of its signer.';
    return refuse(403, 'AccessDenied', message);
  }
  const lateMs = now - claim.signedAt - claim.expiresInSeconds * 1000;
  if (lateMs <= 0) return undefined;
  return refuse(403, 'AccessDenied', `The URL expired ${Math.ceil(lateMs / 1000)} s ago. Request a new one.`);
}

function checkSignedHeaders({ mode, signedHeaders }: Claim, headers: Headers): Refused | undefined {
  if (!signedHeaders.includes('host')) {
    return refuse(403, 'AccessDenied', 'The header host is not among the signed headers. Sign it.');
  }
  for (const name of headers.keys()) {
    if (!name.startsWith('x-amz-') || signedHeaders.includes(name)) continue;
    // In header mode, its value is the last line of the canonical request, so it need not be listed.
    if (mode === 'header' && name === 'x-amz-content-sha256') continue;
    return refuse(403, 'AccessDenied', `The header ${name} is not signed. Leave it out, or sign it.`);
  }
  const absent = signedHeaders.find((name) => !headers.has(name));
  return absent ? signatureDoesNotMatch(` The signed header ${absent} was not sent.`) : undefined;
}

function expectedSignature(
  method: string,
  { path, query }: RequestTarget,
  headers: Headers,
  claim: Claim,
  secretAccessKey: string,
): string {
  const canonical = canonicalRequest({
    method,
    path,
    query: claim.mode === 'query' ? query.filter(([name]) => name !== 'X-Amz-Signature') : query,
    headers: claim.signedHeaders.map((name) => [name, canonicalHeaderValue(headers.get(name) ?? [])]),
    payloadHash: claim.payloadHash,
  });
  // Node presents header bytes as Latin-1 characters; the client signed the bytes.
  const requestHash = hash('sha256', Buffer.from(canonical, 'latin1'), 'hex');
  const { scope, amzDate } = claim;
  return signingKey(secretAccessKey, scope.date, scope.region)(stringToSign(amzDate, toScopeText(claim), requestHash));
}

function toScopeText({ scope }: Claim): string {
  return `${scope.date}/${scope.region}/${scope.service}/${scope.terminator}`;
}

/** Compares signatures in constant time. */
export function equals(given: string, expected: string): boolean {
  // The length of a signature is not secret, and anything but hexadecimal digits need not be compared.
  return /^[0-9a-f]{64}$/.test(given) && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}

function signatureDoesNotMatch(detail = ''): Refused {
  const message =
    'The signature does not match the request. Send the method, URL and signed headers exactly as they were signed.';
  return refuse(403, 'SignatureDoesNotMatch', `${message}${detail}`);
}

function verified(claim: Claim, secretAccessKey: string): Verified {
  const { mode, accessKeyId, payloadHash, signedHeaders, signedAt, expiresInSeconds } = claim;
  const common = { ok: true, mode, accessKeyId, payloadHash, signedHeaders: new Set(signedHeaders) } as const;
  if (expiresInSeconds !== undefined) return { ...common, expiresAt: new Date(signedAt + expiresInSeconds * 1000) };
  if (!payloadHash.startsWith('STREAMING-AWS4-HMAC-SHA256-PAYLOAD')) return common;
  const sign = signingKey(secretAccessKey, claim.scope.date, claim.scope.region);
  return { ...common, chunkSigner: createChunkSigner(sign, claim.amzDate, toScopeText(claim), claim.signature) };
}
