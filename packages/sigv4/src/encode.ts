const plain = /^[A-Za-z0-9_.~-]*$/;
const plainPath = /^[A-Za-z0-9_.~/-]*$/;
const leftByEncodeURIComponent = /[!'()*]/g;
// A request target never contains a fragment, blanks or control characters (RFC 9112, 3.2).
const neverInTarget = /[^\x21\x22\x24-\x7e\x80-\xff]/;
const highByte = /[\x80-\xff]/g;

/** A parsed request target: the decoded path, and the decoded query in wire order with duplicates. */
export interface RequestTarget {
  path: string;
  query: [name: string, value: string][];
}

/**
 * Percent-encodes the UTF-8 of `text` as SigV4 canonicalises it: everything but the unreserved characters of RFC 3986,
 * with upper-case hexadecimal digits ("Signature Calculations for the Authorization Header", `UriEncode()`).
 *
 * @throws URIError when `text` holds a lone surrogate.
 */
export function uriEncode(text: string): string {
  if (plain.test(text)) return text;
  return encodeURIComponent(text).replace(leftByEncodeURIComponent, percent);
}

/** Like `uriEncode`, but keeps `/`. S3 neither normalises a path nor encodes it twice. */
export function uriEncodePath(path: string): string {
  if (plainPath.test(path)) return path;
  return uriEncode(path).replaceAll('%2F', '/');
}

/**
 * Parses a request target as it came over the wire (origin form: path and query; bytes above 0x7f as Node's Latin-1
 * characters). Undefined if the percent-encoding, or the UTF-8 inside it, is malformed.
 *
 * In the query, `+` is a space, as for S3: some clients sign `%20`, as SigV4 requires, and send what HTML forms would. In
 * the path it is a plus.
 */
export function parseRequestTarget(rawUrl: string): RequestTarget | undefined {
  if (!rawUrl.startsWith('/') || neverInTarget.test(rawUrl)) return undefined;
  const mark = rawUrl.indexOf('?');
  const rawPath = mark < 0 ? rawUrl : rawUrl.slice(0, mark);
  const rawQuery = mark < 0 ? '' : rawUrl.slice(mark + 1);
  try {
    return { path: decode(rawPath), query: parseQuery(rawQuery) };
  } catch {
    return undefined;
  }
}

/** Decodes a query in wire order, `+` as a space. Throws URIError if the encoding is malformed. */
export function parseQuery(rawQuery: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of rawQuery.replaceAll('+', ' ').split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    if (equals < 0) pairs.push([decode(part), '']);
    else pairs.push([decode(part.slice(0, equals)), decode(part.slice(equals + 1))]);
  }
  return pairs;
}

/** Strict: throws URIError on `%zz`, `%2`, overlong forms, surrogates and truncated sequences. */
function decode(raw: string): string {
  if (plainPath.test(raw)) return raw;
  return decodeURIComponent(raw.replace(highByte, percent));
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
