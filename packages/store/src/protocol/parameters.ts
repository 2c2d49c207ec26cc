import type { IncomingHttpHeaders } from 'node:http';
import type { RequestTarget } from '@cadiz/sigv4';
import { isChecksumOfNothing } from './checksum-header.ts';
import { S3Error } from './s3-error.ts';

/** What a request says besides its method and path. */
export interface Parameters {
  /** headers that were sent, and those that a presigner put into the URL, by lower-case name */
  headers: IncomingHttpHeaders;
  /** without those of the signature, and without those that count as headers */
  query: ReadonlyMap<string, string>;
}

const signatureQuery = new Set([
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
]);
/** The signature check reads these under one name each: under another name in the URL they would be ignored. */
const neverInUrl = new Set(['x-amz-content-sha256', 'x-amz-date']);

/**
 * The parameters of a request with a valid signature. When AWS SDKs presign a request, they move its `x-amz-*` headers
 * into the query ("hoisting"). The signature covers the whole query, so they count as if they had been sent as headers,
 * for every operation alike.
 *
 * The SDKs' default presigner also adds the checksum of zero bytes, because it had no body when it signed. That says
 * nothing about the body to come, so it is ignored, as is the algorithm named beside it.
 *
 * @throws S3Error InvalidArgument for one that was given twice, or that no header can hold
 */
export function readParameters(sent: IncomingHttpHeaders, pairs: RequestTarget['query']): Parameters {
  const query = new Map<string, string>();
  const hoisted = new Map<string, string>();
  for (const [name, text] of pairs) {
    if (signatureQuery.has(name)) continue;
    const header = name.toLowerCase();
    if (!header.startsWith('x-amz-') || neverInUrl.has(header)) {
      addOnce(query, name, text);
      continue;
    }
    const value = toHeaderValue(text);
    if (!isHeader(header, value))
      throw invalid(`The query parameter "${name}" cannot be a header: it has characters that are not allowed.`);
    if (header === 'x-amz-sdk-checksum-algorithm' || isChecksumOfNothing(header, value)) continue;
    if (sent[header] !== undefined) throw invalid(`${header} is in the URL and in a header. Send it once.`);
    addOnce(hoisted, header, value);
  }
  return { headers: hoisted.size === 0 ? sent : { ...sent, ...Object.fromEntries(hoisted) }, query };
}

function addOnce(parameters: Map<string, string>, name: string, value: string): void {
  if (parameters.has(name)) throw invalid(`The query parameter "${name}" was sent twice. Send it once.`);
  parameters.set(name, value);
}

function invalid(message: string): S3Error {
  return new S3Error('InvalidArgument', message);
}

/** As Node represents a header: bytes as Latin-1 characters, without surrounding spaces. */
function toHeaderValue(text: string): string {
  return Buffer.from(text)
    .toString('latin1')
    .replace(/^[ \t]+|[ \t]+$/g, '');
}

/** Whether a name and a value, its bytes as Latin-1 characters, can become a header of an answer. */
export function isHeader(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
