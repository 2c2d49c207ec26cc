/**
 * The header that names a download (RFC 6266): the exact name in `filename*` (RFC 8187), preceded by a plain ASCII one
 * for readers that do not support it.
 */
export function toContentDisposition(disposition: 'inline' | 'attachment', fileName: string): string {
  // Some readers end the quoted string at a backslash or quote, and others decode "%41" to A (RFC 6266, appendix D).
  const fallback = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const plain = `${disposition}; filename="${fallback}"`;
  return fallback === fileName ? plain : `${plain}; filename*=UTF-8''${encodeExtended(fileName)}`;
}

/** RFC 8187 does not allow these characters that encodeURIComponent leaves alone: `'`, `(`, `)` and `*`. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
