/** How a file is handed out: what the store is told to say of it. */
export interface Served {
  contentType: string;
  disposition: 'inline' | 'attachment';
}

/** What a browser shows without a document around it that could run script (decision 0017). */
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

/** Texts that are only read. Every other `text/…` may be a document, a style or a script. */
const readTypes: ReadonlySet<string> = new Set(
  ['plain', 'csv', 'markdown', 'calendar', 'vcard', 'vtt'].map((name) => `text/${name}`),
);

/**
 * The type and the disposition that a file is served with. Inline only where it was asked for and the type cannot run
 * script. The recorded type is kept, but what a browser would run or open as a document has none but
 * `application/octet-stream`, so that it is harmless also where a store or a browser forgets the disposition.
 */
export function toServed(mimeType: string, wanted: 'inline' | 'attachment'): Served {
  const [type = '', ...parameters] = mimeType.split(';');
  const essence = type.trim().toLowerCase();
  if (isActive(essence)) return { contentType: 'application/octet-stream', disposition: 'attachment' };
  const disposition = inlineTypes.has(essence) ? wanted : 'attachment';
  return { contentType: essence + toParameters(essence, parameters), disposition };
}

/** SVG stays what it is: as an attachment it opens nowhere, and in an `img` it runs nothing. */
function isActive(essence: string): boolean {
  if (essence === 'image/svg+xml') return false;
  if (essence.startsWith('text/')) return !readTypes.has(essence);
  return (
    /xml$/.test(essence) || /script|html|shockwave|multipart\/|message\//.test(essence) || activeTypes.has(essence)
  );
}

/** Archives of pages, and what speaks for another origin. */
const activeTypes: ReadonlySet<string> = new Set(
  ['hta', 'mimearchive', 'x-mimearchive', 'mbox', 'http', 'signed-exchange', 'webbundle', 'x-java-applet'].map(
    (name) => `application/${name}`,
  ),
);

/** Parameters of plain words only: in a quoted one a browser may see a comma, and after it a second type. */
function toParameters(essence: string, parameters: string[]): string {
  const plain = parameters.map((text) => text.trim());
  if (!plain.every((text) => /^[\w.+-]+=[\w.+-]+$/.test(text))) return '';
  if (essence === 'text/plain' && plain.length === 0) return '; charset=utf-8';
  return plain.map((text) => `; ${text}`).join('');
}
