import { parseRequestTarget, type RequestTarget } from '@cadiz/sigv4';

/** Where a request goes: its target, decoded and split. */
export interface Address extends RequestTarget {
  /** '' for the service itself; not checked to be a valid bucket name */
  bucket: string;
  /** '' for an operation on a bucket */
  key: string;
}

/**
 * The one place where a request target becomes a bucket and a key, for routing, CORS rules and forms alike: if they
 * could disagree, the rules of one bucket could be bypassed by naming another. The path is decoded before it is split,
 * as it is for the signature, so `%2F` separates just as `/` does. The key is everything after the bucket's slash,
 * unchanged.
 *
 * Undefined if the target is not percent-encoded UTF-8.
 */
export function readAddress(rawUrl: string | undefined): Address | undefined {
  const target = parseRequestTarget(rawUrl ?? '');
  return target && { ...target, ...splitPath(target.path) };
}

function splitPath(path: string): { bucket: string; key: string } {
  const slash = path.indexOf('/', 1);
  if (slash < 0) return { bucket: path.slice(1), key: '' };
  return { bucket: path.slice(1, slash), key: path.slice(slash + 1) };
}
