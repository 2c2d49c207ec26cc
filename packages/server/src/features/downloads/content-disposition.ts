/**
 * The header that names a download (RFC 6266): the name as it is in `filename*` (RFC 8187), and before it, for who does
 * not read that, one of plain ASCII.
 */
export function toContentDisposition(disposition: 'inline' | 'attachment', fileName: string): string {
  // A backslash and a quote end the quoted text for some readers, and "%41" is an A to others (RFC 6266, appendix D).
  const fallback = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const plain = `${disposition}; filename="${fallback}"`;
  return fallback === fileName ? plain : `${plain}; filename*=UTF-8''${encodeExtended(fileName)}`;
}

/** What encodeURIComponent leaves as it is, RFC 8187 does not: `'`, `(`, `)` and `*`. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
