/**
 * Whether the value of If-Match ("strong": a weak tag matches nothing) or If-None-Match ("weak") names this ETag, given
 * without quotes (RFC 9110, 8.8.3.2). As on S3, the header may leave out the quotes.
 */
export function namesEtag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  return list.split(',').some((item) => {
    const tag = item.trim();
    const strong = comparison === 'weak' ? tag.replace(/^W\//, '') : tag;
    return strong === '*' || strong.replace(/^"(.*)"$/, '$1') === etag;
  });
}
