/** An ETag as a store gave it: without its quotes, and without the mark of a proxy that may encode answers (RFC 9110, 8.8.1). */
export const toEtag = (header: string | null | undefined): string =>
  (header ?? '').replace(/^W\//, '').replaceAll('"', '');
