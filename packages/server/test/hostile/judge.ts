import { errorCatalogue } from '@cadiz/contract';
import { findOperation, requireContract } from '../service.ts';
import type { HostileRequest } from './requests.ts';
import type { HostileAnswer } from './send.ts';

/** Refusals that are true if 32 clients ask at once: the number of simultaneous listings and archives is limited. */
const truthful = new Set(['too_many_listings', 'archives_busy']);
/** Refusals that come before a route is found, or without one. */
const ofNoRoute = new Set(['not_found', 'method_not_allowed', 'body_too_large', 'malformed_request']);

/** What a failure must not reveal: SQL, the database's own words, file paths. The requests contain none of it. */
const leaks =
  /\b(?:select|insert|update|delete)\b.{0,200}\b(?:from|into|set|where|values)\b|SQLSTATE|\brelation "|\bconstraint\b|duplicate key|invalid input syntax|violates|invalid byte sequence|out of range for type|node_modules|\.[tj]s:\d|\bat \w+ \(|file:\/\/|\/tmp\/|\/root\/|TypeError|RangeError|\[object Object\]|PGlite|kysely|openid-client|oauth4webapi|OAUTH_|simplewebauthn/i;

/** What is wrong with an answer, or undefined. */
export function findFault(
  request: HostileRequest,
  answer: HostileAnswer,
  secrets: readonly string[],
): string | undefined {
  const { status, headers, text } = answer;
  // The console, which is the same for everybody: nothing of the request is in it.
  const isConsole = headers.get('content-type')?.startsWith('text/html') && text.includes('<div id="root">');
  if (isConsole) return undefined;
  if (headers.get('cache-control') !== 'no-store') return 'the answer may be cached';
  if (headers.get('x-content-type-options') !== 'nosniff') return 'the type of the answer may be sniffed';
  if (!headers.get('x-request-id')) return 'the answer has no request id';
  for (const secret of secrets) if (text.includes(secret)) return 'the answer repeats a credential';
  if (request.method === 'HEAD')
    return text === '' && status < 500 ? undefined : `HEAD answered ${status} with a body of ${text.length}`;
  if (status === 302) return undefined;

  const isJson = headers.get('content-type')?.includes('json') ?? false;
  const body = isJson && text !== '' ? JSON.parse(text) : undefined;
  if (status >= 500 && !truthful.has(body?.code)) return `${status}`;
  if (status >= 400) {
    const entry = errorCatalogue[body?.code as keyof typeof errorCatalogue];
    if (entry?.status !== status) return `${status} is not in the catalogue of problems`;
    const told = text.replaceAll(JSON.stringify(request.target).slice(1, -1), '');
    const leak = leaks.exec(told);
    if (leak) return `it reveals ${JSON.stringify(leak[0])}`;
  }
  // A head over 16 KiB is refused before it is parsed; a session and a key together are below 4 KiB.
  if (body?.code === 'headers_too_large' && request.target.length > 12 * 1024) return undefined;
  const [path = ''] = request.target.split('?');
  if (!findOperation(request.method, path)) return ofNoRoute.has(body?.code) ? undefined : `${status} without a route`;
  try {
    requireContract(request.method, request.target, { ...answer, body });
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}
