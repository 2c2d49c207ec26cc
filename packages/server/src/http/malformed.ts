import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '@cadiz/contract';
import { Problem } from '../problem.ts';
import { findMethods } from './router.ts';

/** What Node's parser calls the reasons that are told apart; everything else is malformed. */
const parserErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** What is wrong with bytes that Node's parser refused, or that came too slowly. */
export function toMalformed(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): Problem {
  if (error.code !== 'HPE_INVALID_METHOD') return new Problem(parserErrors[error.code ?? ''] ?? 'malformed_request');
  // A request like any other, but for a method that the parser does not know.
  const line = error.rawPacket?.subarray(0, 4096).toString('latin1') ?? '';
  const path = /^[!#$%&'*+.^_`|~\w-]{1,32} (\/[^ ?]*)\S* HTTP\/1\.[01]\r\n/.exec(line)?.[1];
  return path === undefined ? new Problem('malformed_request') : toUnmatched(path);
}

/** That nothing answers to this method at this path. */
export function toUnmatched(path: string): Problem {
  const methods = findMethods(path);
  if (methods.length === 0) return new Problem('not_found', `There is nothing at ${path}.`);
  return new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
}

/**
 * Node's parser refuses nearly everything that two servers could read differently. This is the rest: a proxy in front may
 * take another Host than we do, or another end of the body, and what follows for a request of somebody else's.
 * @see RFC 9112 §3.2, §6.1
 */
export function isAmbiguous({ rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked')) return true;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1 || httpVersionMajor !== 1;
}
