import { algorithm, unsignedPayload } from './canonical-request.ts';
import type { RequestTarget } from './encode.ts';
import { maxExpiresInSeconds } from './presign.ts';
import { type Refused, refuse, version2Advice } from './refusal.ts';

/** The values of each header by lower-case name, in wire order. */
export type Headers = ReadonlyMap<string, readonly string[]>;

/** What a request states about its own signature: well-formed, but not yet verified. */
export interface Claim {
  ok: true;
  mode: 'header' | 'query';
  accessKeyId: string;
  scope: { date: string; region: string; service: string; terminator: string };
  amzDate: string;
  /** milliseconds since 1970 */
  signedAt: number;
  /** query mode only */
  expiresInSeconds?: number;
  signedHeaders: readonly string[];
  payloadHash: string;
  signature: string;
}

const queryNames = [
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-SignedHeaders',
  'X-Amz-Signature',
];
const queryNamesInLowerCase = new Set(queryNames.map((name) => name.toLowerCase()));
const payloadHashForm = /^(?:[0-9a-f]{64}|UNSIGNED-PAYLOAD|STREAMING-[A-Z0-9-]+)$/;
const headerNameForm = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Reads the claim from the Authorization header or from the query, whichever carries one; both at once are refused. */
export function readClaim(target: RequestTarget, headers: Headers): Claim | Refused {
  const authorization = headers.get('authorization');
  if (isVersion2(target, authorization)) {
    return refuse(400, 'InvalidRequest', version2Advice);
  }
  const inQuery = target.query.some(([name]) => queryNamesInLowerCase.has(name.toLowerCase()));
  if (inQuery && authorization) {
    return refuse(
      400,
      'InvalidArgument',
      'The URL is already signed: send it without an Authorization header, or sign only in the header.',
    );
  }
  if (inQuery) return readQueryClaim(target, headers);
  if (authorization) return readHeaderClaim(authorization[0] ?? '', headers);
  return refuse(403, 'AccessDenied', 'The request is unsigned. Sign it, or use a presigned URL.');
}

function isVersion2(target: RequestTarget, authorization: readonly string[] | undefined): boolean {
  if (authorization?.some((value) => /^AWS\s/i.test(value))) return true;
  return target.query.some(([name]) => name === 'Signature' || name === 'AWSAccessKeyId');
}

/** "Authenticating Requests: Using Query Parameters". */
function readQueryClaim(target: RequestTarget, headers: Headers): Claim | Refused {
  const malformed = (message: string) => refuse(400, 'AuthorizationQueryParametersError', message);
  const query = new Map(target.query);
  // With two values for one name, one could be signed and the other obeyed.
  if (query.size !== target.query.length) return malformed('A query parameter of the presigned URL occurs twice.');
  const missing = queryNames.find((name) => !query.has(name));
  if (missing) return malformed(`The query parameter ${missing} is missing. Use the presigned URL as it was issued.`);
  const value = (name: string) => query.get(name) ?? '';
  if (value('X-Amz-Algorithm') !== algorithm) return malformed(`X-Amz-Algorithm must be ${algorithm}.`);
  const credential = readCredential(value('X-Amz-Credential'));
  if (!credential) return malformed('X-Amz-Credential must be <key id>/<YYYYMMDD>/<region>/s3/aws4_request.');
  const signedAt = readAmzDate(value('X-Amz-Date'));
  if (signedAt === undefined) return malformed('X-Amz-Date must be a time in the form 20130524T000000Z.');
  const expiresInSeconds = readExpires(value('X-Amz-Expires'));
  if (!expiresInSeconds) {
    return malformed(`X-Amz-Expires must be a whole number of seconds from 1 to ${maxExpiresInSeconds}.`);
  }
  const signedHeaders = readSignedHeaders(value('X-Amz-SignedHeaders'));
  if (!signedHeaders) return malformed('X-Amz-SignedHeaders must be lower-case, sorted, and name each header once.');
  const payloadHash = headers.get('x-amz-content-sha256')?.[0] ?? query.get('X-Amz-Content-Sha256') ?? unsignedPayload;
  if (!payloadHashForm.test(payloadHash)) return badPayloadHash();
  return {
    ok: true,
    mode: 'query',
    ...credential,
    amzDate: value('X-Amz-Date'),
    signedAt,
    expiresInSeconds,
    signedHeaders,
    payloadHash,
    signature: value('X-Amz-Signature'),
  };
}

/** "Authenticating Requests: Using the Authorization Header". */
function readHeaderClaim(authorization: string, headers: Headers): Claim | Refused {
  const malformed = (message: string) => refuse(400, 'AuthorizationHeaderMalformed', message);
  // No line break or other exotic space may pass for a blank below.
  if (!/^[\t\x20-\x7e]*$/.test(authorization)) return malformed('The Authorization header must be printable ASCII.');
  const [scheme = '', rest = ''] = split(authorization, /\s+/);
  if (scheme !== algorithm) {
    const message = `This authorization mechanism is not supported. Sign with ${algorithm}.`;
    return refuse(400, scheme.startsWith('AWS4-') ? 'InvalidRequest' : 'InvalidArgument', message);
  }
  const fields = readFields(rest);
  if (!fields) return malformed('The Authorization header needs Credential, SignedHeaders and Signature, each once.');
  const credential = readCredential(fields.credential);
  if (!credential) return malformed('Credential must be <key id>/<YYYYMMDD>/<region>/s3/aws4_request.');
  const signedHeaders = readSignedHeaders(fields.signedHeaders);
  if (!signedHeaders) return malformed('SignedHeaders must be lower-case, sorted, and name each header once.');
  const amzDate = headers.get('x-amz-date')?.[0] ?? '';
  const signedAt = readAmzDate(amzDate);
  if (signedAt === undefined) {
    return refuse(403, 'AccessDenied', 'The header x-amz-date must be sent, in the form 20130524T000000Z.');
  }
  const payloadHash = headers.get('x-amz-content-sha256')?.[0];
  if (payloadHash === undefined) {
    return refuse(400, 'InvalidRequest', 'The header x-amz-content-sha256 is missing. Send the hash that was signed.');
  }
  if (!payloadHashForm.test(payloadHash)) return badPayloadHash();
  return {
    ok: true,
    mode: 'header',
    ...credential,
    amzDate,
    signedAt,
    signedHeaders,
    payloadHash,
    signature: fields.signature,
  };
}

function badPayloadHash(): Refused {
  const message = `x-amz-content-sha256 must be ${unsignedPayload}, STREAMING-… or a SHA-256 in lower-case hexadecimal.`;
  return refuse(400, 'InvalidArgument', message);
}

/** `Credential=…, SignedHeaders=…, Signature=…`, in any order, blanks around the commas optional. */
function readFields(text: string): { credential: string; signedHeaders: string; signature: string } | undefined {
  const parts = text.split(',').map((part) => split(part.trim(), '='));
  const fields = new Map(parts.map(([name = '', value]) => [name, value]));
  const credential = fields.get('Credential');
  const signedHeaders = fields.get('SignedHeaders');
  const signature = fields.get('Signature');
  if (parts.length !== 3 || !credential || !signedHeaders || !signature) return undefined;
  return { credential, signedHeaders, signature };
}

/** Reads `<key id>/<date>/<region>/<service>/aws4_request`; undefined if it does not have five parts. */
export function readCredential(text: string): Pick<Claim, 'accessKeyId' | 'scope'> | undefined {
  const [accessKeyId, date, region, service, terminator, ...more] = text.split('/');
  if (!accessKeyId || !date || !region || !service || !terminator || more.length > 0) return undefined;
  return { accessKeyId, scope: { date, region, service, terminator } };
}

/** Milliseconds since 1970. Undefined if invalid, such as a 30th of February, which Date would carry over into March. */
export function readAmzDate(text: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (!parts) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const at = Date.parse(iso);
  return Number.isNaN(at) || new Date(at).toISOString() !== iso ? undefined : at;
}

function readExpires(text: string): number | undefined {
  if (!/^[1-9]\d{0,5}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds <= maxExpiresInSeconds ? seconds : undefined;
}

function readSignedHeaders(text: string): string[] | undefined {
  const names = text.split(';');
  const inOrder = names.every((name, index) => index === 0 || name > (names[index - 1] ?? ''));
  return inOrder && names.every((name) => headerNameForm.test(name)) ? names : undefined;
}

/** Splits at the first separator only. */
function split(text: string, separator: string | RegExp): [string, string] | [string] {
  const [first = ''] = text.split(separator, 1);
  if (first === text) return [first];
  return [first, text.slice(first.length).replace(separator, '')];
}
