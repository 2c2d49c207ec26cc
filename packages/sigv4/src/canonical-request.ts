import { uriEncode, uriEncodePath } from './encode.ts';

/** The `x-amz-content-sha256` of a body that is not part of the signature. */
export const unsignedPayload = 'UNSIGNED-PAYLOAD';

/** The only algorithm that is used and accepted. */
export const algorithm = 'AWS4-HMAC-SHA256';

export interface CanonicalParts {
  method: string;
  /** decoded absolute path */
  path: string;
  /** decoded, in any order */
  query: Iterable<readonly [string, string]>;
  /** the signed headers only: sorted lower-case name, canonical value */
  headers: readonly (readonly [string, string])[];
  payloadHash: string;
}

/**
 * The canonical request of "Signature Calculations for the Authorization Header". The path is encoded once and not
 * normalised, as only S3 does.
 */
export function canonicalRequest(parts: CanonicalParts): string {
  const lines = parts.headers.map(([name, value]) => `${name}:${value}\n`).join('');
  const names = parts.headers.map(([name]) => name).join(';');
  const path = uriEncodePath(parts.path);
  return `${parts.method}\n${path}\n${canonicalQuery(parts.query)}\n${lines}\n${names}\n${parts.payloadHash}`;
}

/** Sorted by encoded name, then by encoded value: `a-b` comes after `a`, though `-` sorts before `=`. */
export function canonicalQuery(query: Iterable<readonly [string, string]>): string {
  const encoded = Array.from(query, ([name, value]) => [uriEncode(name), uriEncode(value)] as const);
  encoded.sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
  return encoded.map(([name, value]) => `${name}=${value}`).join('&');
}

/** The values of one header: each trimmed, with inner runs of blanks collapsed to one space, joined by commas in wire order. */
export function canonicalHeaderValue(values: readonly string[]): string {
  return values.map((value) => value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')).join(',');
}

/** The string that is finally signed. `requestHash`: hexadecimal SHA-256 of the canonical request. */
export function stringToSign(amzDate: string, scope: string, requestHash: string): string {
  return `${algorithm}\n${amzDate}\n${scope}\n${requestHash}`;
}

/** `20130524T000000Z`, to the second. `now`: Date or milliseconds since 1970. */
export function amzDateOf(now: Date | number): string {
  return `${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
}

/** Compares ASCII strings in byte order. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
