import type { IncomingMessage } from 'node:http';

/** The signed headers that clients, proxies and browsers change most often on the way. */
const telling = ['content-length', 'content-type', 'content-md5', 'if-none-match', 'host'];

/**
 * The method, and the values that arrived for the headers a request claims to have signed, to help find out why its signature does not
 * match. The values that were signed are unknown: only their hash went into the signature.
 */
export function signatureHint({ method, url = '', headers }: IncomingMessage): string {
  const inHeader = /SignedHeaders=([^,\s]*)/.exec(headers.authorization ?? '')?.[1];
  const inQuery = /[?&]X-Amz-SignedHeaders=([^&]*)/.exec(url)?.[1];
  const signed = new Set((inHeader ?? inQuery ?? '').split(/;|%3B/i));
  // The refusal has named it. Clients leave it out when they are given a stream, and then no other value is wrong.
  if (signed.has('content-length') && headers['content-length'] === undefined) {
    return ' A client that is given a stream must be told its length.';
  }
  const arrived = telling.filter((name) => signed.has(name) && headers[name] !== undefined);
  const values = [`method ${method}`, ...arrived.map((name) => `${name} ${headers[name]}`)];
  return ` It was signed for other values than these, or with another key: ${values.join(', ')}.`;
}
