/** How the store is told to serve a file. */
export interface Served {
  contentType: string;
  disposition: 'inline' | 'attachment';
}

/** The types that a browser displays without a document around them that could run scripts (decision 0017). */
const inlineTypes: ReadonlySet<string> = new Set([
  'text/plain',
  ...['apng', 'avif', 'bmp', 'gif', 'jpeg', 'png', 'webp', 'x-icon', 'vnd.microsoft.icon'].map(
    (name) => `image/${name}`,
  ),
  ...['aac', 'flac', 'mp3', 'mp4', 'mpeg', 'ogg', 'opus', 'wav', 'webm', 'x-m4a', 'x-wav'].map(
    (name) => `audio/${name}`,
  ),
  ...['mp4', 'mpeg', 'ogg', 'quicktime', 'webm', 'x-m4v', 'x-matroska'].map((name) => `video/${name}`),
]);

/** Text types that are only read. Any other `text/…` may be a document, a style sheet or a script. */
const readTypes: ReadonlySet<string> = new Set(
  ['plain', 'csv', 'markdown', 'calendar', 'vcard', 'vtt'].map((name) => `text/${name}`),
);

/**
 * The type and disposition that a file is served with. Inline only if requested and if the type cannot run scripts. The
 * recorded type is kept, but anything a browser would run or open as a document becomes `application/octet-stream`, so
 * that it is harmless even if a store or a browser drops the disposition.
 */
export function toServed(mimeType: string, wanted: 'inline' | 'attachment'): Served {
  const [type = '', ...parameters] = mimeType.split(';');
  const essence = type.trim().toLowerCase();
  if (isActive(essence)) return { contentType: 'application/octet-stream', disposition: 'attachment' };
  const disposition = inlineTypes.has(essence) ? wanted : 'attachment';
  return { contentType: essence + toParameters(essence, parameters), disposition };
}

/** SVG keeps its type: as an attachment it opens nowhere, and in an `img` it runs nothing. */
function isActive(essence: string): boolean {
  if (essence === 'image/svg+xml') return false;
  if (essence.startsWith('text/')) return !readTypes.has(essence);
  return (
    /xml$/.test(essence) || /script|html|shockwave|multipart\/|message\//.test(essence) || activeTypes.has(essence)
  );
}

/** Archives of web pages, and formats that can speak for another origin. */
const activeTypes: ReadonlySet<string> = new Set(
  ['hta', 'mimearchive', 'x-mimearchive', 'mbox', 'http', 'signed-exchange', 'webbundle', 'x-java-applet'].map(
    (name) => `application/${name}`,
  ),
);

/** Keeps only parameters of plain words, quoted or not: in other quotes, a browser may see a comma followed by a second type. */
function toParameters(essence: string, parameters: string[]): string {
  const plain = parameters.map((text) => text.trim().replace(/^([\w.+-]+)="([\w.+-]+)"$/, '$1=$2'));
  if (!plain.every((text) => /^[\w.+-]+=[\w.+-]+$/.test(text))) return '';
  if (essence === 'text/plain' && !plain.some((text) => /^charset=/i.test(text))) plain.push('charset=utf-8');
  return plain.map((text) => `; ${text}`).join('');
}
