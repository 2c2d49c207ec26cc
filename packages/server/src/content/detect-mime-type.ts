import { fileTypeFromBuffer } from 'file-type';

/** How many bytes of a file are examined: the most that file-type asks for. */
export const sampleBytes = 4100;

/**
 * Two-byte signatures that text can begin with as well; real files of these formats have a NUL in these first bytes.
 */
const weak = new Set(['image/bmp', 'application/x-msdownload']);

/**
 * The media type that the first bytes of a file show, in lower case and without parameters, or null if they show none:
 * most text has no signature. Never throws, whatever the bytes are.
 */
export async function detectMimeType(sample: Uint8Array): Promise<string | null> {
  const markup = detectMarkup(sample);
  if (markup !== null) return markup;
  const found = (await findSignature(sample))?.split(';')[0]?.trim().toLowerCase();
  return found === undefined || isText(sample, found) ? null : found;
}

/** Whether these first bytes are more likely text than the detected format. */
function isText(sample: Uint8Array, found: string): boolean {
  if (weak.has(found)) return !sample.includes(0);
  // The byte order mark of UTF-16 is also the beginning of an MPEG layer I frame, a format that nobody uses.
  return found.startsWith('audio/') && sample[0] === 0xff && sample[1] === 0xfe;
}

async function findSignature(sample: Uint8Array): Promise<string | undefined> {
  try {
    return (await fileTypeFromBuffer(sample))?.mime ?? (isTiff(sample) ? 'image/tiff' : undefined);
  } catch {
    // A header that promises more bytes than there are. Unreadable bytes show no type.
    return undefined;
  }
}

/** The directory of a TIFF, which shows its kind, may be beyond the sample; file-type then says nothing. */
function isTiff(sample: Uint8Array): boolean {
  return ['II*\0', 'MM\0*'].includes(Buffer.from(sample.subarray(0, 4)).toString('latin1'));
}

/** Tags that begin an HTML document (WHATWG MIME Sniffing §7.1). */
const htmlStart =
  /^<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)(?:[\s>]|$)/i;
const rootElement = /^<(?:[\w.-]+:)?(\w[\w.-]*)(?:[\s/>]|$)/;

/** HTML, XHTML, SVG and other XML: text that a browser may run, and that file-type does not tell apart. */
function detectMarkup(sample: Uint8Array): string | null {
  const text = decode(sample).replace(/^[\ufeff\s]+/, '');
  if (!text.startsWith('<')) return null;
  const isXml = /^<\?xml[\s?]/i.test(text);
  const body = withoutProlog(text, isXml);
  const root = rootElement.exec(body)?.[1]?.toLowerCase();
  if (root === 'svg') return 'image/svg+xml';
  if (isXml) return root === 'html' ? 'application/xhtml+xml' : 'application/xml';
  // The sample ends inside a comment, and anything may follow it.
  if (body.startsWith('<!--')) return null;
  return htmlStart.test(text) || htmlStart.test(body) ? 'text/html' : null;
}

/** Skips the comments, processing instructions and doctype that may precede the root element and hide it. */
function withoutProlog(text: string, isXml: boolean): string {
  let rest = text;
  for (;;) {
    const end = endOfProlog(rest, isXml);
    if (end === undefined) return rest;
    rest = rest.slice(end).trimStart();
  }
}

function endOfProlog(text: string, isXml: boolean): number | undefined {
  if (text.startsWith('<!--')) return after(text, '-->');
  if (text.startsWith('<?')) return after(text, '?>');
  if (!(isXml ? /^<!doctype\s/i : /^<!doctype\s+(?:\w+:)?svg/i).test(text)) return undefined;
  const end = after(text, '>');
  const subset = text.indexOf('[');
  return subset !== -1 && subset < (end ?? text.length) ? after(text, ']>') : end;
}

/** Where the text after the first `mark` begins; undefined if there is no `mark`. */
function after(text: string, mark: string): number | undefined {
  const at = text.indexOf(mark);
  return at === -1 ? undefined : at + mark.length;
}

/** UTF-16 if a byte order mark or the NULs around `<` indicate it; otherwise UTF-8, which never fails. */
function decode(sample: Uint8Array): string {
  const [first, second] = sample;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) {
    return new TextDecoder('utf-16le').decode(sample);
  }
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) {
    return new TextDecoder('utf-16be').decode(sample);
  }
  return new TextDecoder().decode(sample);
}
