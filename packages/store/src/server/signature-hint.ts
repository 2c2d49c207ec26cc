import type { IncomingMessage } from 'node:http';

/** The signed headers that clients, proxies and browsers most often change on the way. */
const telling = ['content-length', 'content-type', 'content-md5', 'if-none-match', 'host'];

/**
 * What arrived in the headers that a request says it signs, for whoever must find out why its signature does not match.
 * What was signed cannot be told: it went into the signature as part of a hash.
 */
export function signatureHint({ url = '', headers }: IncomingMessage): string {
  const inHeader = /SignedHeaders=([^,\s]*)/.exec(headers.authorization ?? '')?.[1];
  const inQuery = /[?&]X-Amz-SignedHeaders=([^&]*)/.exec(url)?.[1];
  const signed = new Set((inHeader ?? inQuery ?? '').split(/;|%3B/i));
  const arrived = telling.filter((name) => signed.has(name) && headers[name] !== undefined);
  if (arrived.length === 0) return '';
  return ` It was signed for other values than these, or with another key: ${arrived.map((name) => `${name} ${headers[name]}`).join(', ')}.`;
}
