import type { IncomingMessage } from 'node:http';

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
