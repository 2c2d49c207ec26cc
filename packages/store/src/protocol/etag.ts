/**
 * Whether the value of If-Match ("strong": a weak tag names nothing) or If-None-Match ("weak") names this ETag, which
 * comes without quotes (RFC 9110, 8.8.3.2). As on S3 the quotes may be missing in the header.
 */
export function namesEtag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  return list.split(',').some((item) => {
    const tag = item.trim();
    const strong = comparison === 'weak' ? tag.replace(/^W\//, '') : tag;
    return strong === '*' || strong.replace(/^"(.*)"$/, '$1') === etag;
  });
}
