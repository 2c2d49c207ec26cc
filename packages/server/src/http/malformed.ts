import type { ErrorCode } from '@cadiz/contract';
import { Problem } from '../problem.ts';
import { findMethods } from './router.ts';

/** The errors of Node's parser that have a code of their own. Every other error means malformed_request. */
const parserErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** The problem with bytes that Node's parser refused, or that arrived too slowly. */
export function toMalformed(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): Problem {
  if (error.code !== 'HPE_INVALID_METHOD') return new Problem(parserErrors[error.code ?? ''] ?? 'malformed_request');
  // A well-formed request whose method the parser does not know.
  const line = error.rawPacket?.subarray(0, 4096).toString('latin1') ?? '';
  const path = /^[!#$%&'*+.^_`|~\w-]{1,32} (\/[^ ?]*)\S* HTTP\/1\.[01]\r\n/.exec(line)?.[1];
  return path === undefined ? new Problem('malformed_request') : toUnmatched(path);
}

/** The problem of a path that does not accept this method. */
export function toUnmatched(path: string): Problem {
  const methods = findMethods(path);
  if (methods.length === 0) return new Problem('not_found', `There is nothing at ${path}.`);
  return new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
}
