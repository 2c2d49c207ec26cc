import type { IncomingMessage } from 'node:http';
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

/** A name or an IP address, in brackets one of version 6, with or without a port; it may be empty. */
const validHost = /^(?:\[[\w.~!$&'()*+,;=:%-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Whether two servers could read this request differently, or it has no valid Host although HTTP/1.1 requires one. Node's parser
 * refuses nearly all such requests; these are the rest: a proxy in front may see another Host than we do, or another end of
 * the body, and take what follows for somebody else's request.
 * @see RFC 9112 §3.2, §6.1, RFC 3986 §3.2.2
 */
export function isAmbiguous({ rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked')) return true;
  if (headers.host !== undefined && !validHost.test(headers.host)) return true;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1 || (hosts === 0 && httpVersionMinor === 1) || httpVersionMajor !== 1;
}
