/** What the first bytes of a file say about its declared type; `unknown` if they show no type. */
export type ContentVerdict = 'match' | 'mismatch' | 'unknown';

/**
 * Types that first bytes cannot tell apart: other names of the same format, and several formats in one container. The
 * first of each is the name used here.
 */
const families: readonly (readonly string[])[] = [
  ['image/jpeg', 'image/jpg', 'image/pjpeg'],
  ['image/png', 'image/x-png', 'image/apng', 'image/vnd.mozilla.apng'],
  ['image/bmp', 'image/x-bmp', 'image/x-ms-bmp'],
  ['image/x-icon', 'image/vnd.microsoft.icon', 'image/ico'],
  ['image/heif', 'image/heic', 'image/heif-sequence', 'image/heic-sequence'],
  ['image/vnd.adobe.photoshop', 'image/x-photoshop', 'application/x-photoshop', 'application/photoshop'],
  ['image/vnd.dwg', 'image/x-dwg', 'application/acad', 'application/x-dwg'],
  ['application/pdf', 'application/x-pdf', 'application/illustrator'],
  ['application/postscript', 'application/eps', 'image/x-eps'],
  ['application/rtf', 'text/rtf', 'text/richtext'],
  [
    'application/gzip',
    'application/x-gzip',
    'application/x-tgz',
    'application/x-compressed-tar',
    'image/svg+xml-compressed',
  ],
  ['application/x-bzip2', 'application/bzip2', 'application/x-bzip'],
  ['application/vnd.rar', 'application/x-rar-compressed', 'application/x-rar'],
  ['application/x-7z-compressed', 'application/x-7zip'],
  ['application/zstd', 'application/x-zstd'],
  ['application/vnd.sqlite3', 'application/x-sqlite3'],
  [
    'application/x-msdownload',
    'application/vnd.microsoft.portable-executable',
    'application/x-dosexec',
    'application/x-msdos-program',
  ],
  ['application/vnd.adobe.flash.movie', 'application/x-shockwave-flash'],
  ['audio/mpeg', 'audio/mp3', 'audio/x-mp3', 'audio/mpeg3', 'audio/x-mpeg'],
  ['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
  ['audio/flac', 'audio/x-flac'],
  ['audio/aac', 'audio/x-aac', 'audio/aacp'],
  ['audio/aiff', 'audio/x-aiff'],
  ['audio/midi', 'audio/mid', 'audio/x-midi'],
  ['video/vnd.avi', 'video/avi', 'video/msvideo', 'video/x-msvideo'],
  ['video/mpeg', 'video/mp1s', 'video/mp2p'],
  ['video/x-flv', 'video/flv'],
  // Containers that hold either sound or pictures; the first bytes do not show which.
  [
    'video/mp4',
    'audio/mp4',
    'application/mp4',
    'video/x-m4v',
    'audio/x-m4a',
    'audio/m4a',
    'audio/x-m4b',
    'video/quicktime',
    'video/3gpp',
    'audio/3gpp',
    'video/3gpp2',
    'audio/3gpp2',
  ],
  ['application/ogg', 'audio/ogg', 'video/ogg', 'audio/opus', 'audio/vorbis', 'audio/x-vorbis+ogg'],
  ['video/matroska', 'video/x-matroska', 'audio/matroska', 'audio/x-matroska', 'video/webm', 'audio/webm'],
  ['application/vnd.ms-asf', 'video/x-ms-asf', 'audio/x-ms-asf', 'video/x-ms-wmv', 'audio/x-ms-wma', 'video/x-ms-wm'],
  ['font/woff', 'application/font-woff', 'application/x-font-woff'],
  [
    'font/ttf',
    'application/x-font-ttf',
    'application/font-sfnt',
    'font/sfnt',
    'font/otf',
    'application/x-font-otf',
    'application/vnd.ms-opentype',
  ],
  ['application/xml', 'text/xml'],
  ['application/zip', 'application/x-zip', 'application/x-zip-compressed'],
];

const nameOf = new Map(families.flatMap(([name = '', ...others]) => [name, ...others].map((type) => [type, name])));

/**
 * Office documents from before 2007 and similar formats: they share one container, and the first bytes show nothing
 * more.
 */
const inCompoundFile = new Set([
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.ms-outlook',
  'application/vnd.ms-project',
  'application/vnd.ms-works',
  'application/vnd.visio',
  'application/x-msi',
  'application/x-ole-storage',
]);

const zipBased =
  /^application\/(?:vnd\.(?:openxmlformats-officedocument|oasis\.opendocument|android\.package-archive|google-earth\.kmz|ms-(?:word|excel|powerpoint|visio)|apple\.(?:pages|numbers|keynote)|comicbook|etsi\.asic)|epub|java-archive|x-java-archive|x-xpinstall|x-cbz|vsix)|\+zip$|^model\/3mf$/;

/** Text formats that have a signature, but may also be declared simply as text. */
const signedTexts = new Set([
  'application/pgp-encrypted',
  'application/postscript',
  'application/x-ms-regedit',
  'model/stl',
]);

/** Encrypted documents are stored in a compound file, whatever their format is when decrypted. */
const officeOpenXml = 'application/vnd.openxmlformats-officedocument';

/** Formats that always begin with their signature: a file without it is not of that format. */
const alwaysSigned = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif', 'image/heif']);

/**
 * Compares the declared type of a file with the one that its first bytes show (decision 0026). Case, parameters and
 * other names of the same format make no difference; `application/octet-stream` claims nothing and is never a mismatch.
 */
export function judgeContent(declaredMimeType: string, detected: string | null, fileSize: number): ContentVerdict {
  const declared = toName(declaredMimeType);
  if (declared === 'application/octet-stream' || declared === 'binary/octet-stream') return 'match';
  if (detected === null) return fileSize > 0 && alwaysSigned.has(declared) ? 'mismatch' : 'unknown';
  return isCompatible(declared, toName(detected)) ? 'match' : 'mismatch';
}

function isCompatible(declared: string, detected: string): boolean {
  if (declared === detected) return true;
  if (isText(detected)) return isCompatibleText(declared, detected);
  // The first bytes of a document may show only its container, and declaring the container is correct too.
  if (detected === 'application/zip') return zipBased.test(declared);
  if (declared === 'application/zip') return zipBased.test(detected);
  if (detected === 'application/x-cfb') return inCompoundFile.has(declared) || declared.startsWith(officeOpenXml);
  if (declared === 'application/x-ole-storage') return inCompoundFile.has(detected);
  // Raw pictures of cameras are TIFF files.
  if (detected === 'image/tiff') return declared.startsWith('image/x-') || declared === 'image/dng';
  if (declared === 'image/tiff') return /^image\/x-(?:adobe|canon|nikon|olympus|panasonic|sony)-/.test(detected);
  return detected === 'image/x-adobe-dng' && declared === 'image/dng';
}

/** Text may be declared as any kind of text, but not as a picture, a document or data. */
function isCompatibleText(declared: string, detected: string): boolean {
  if (declared.startsWith('text/')) return true;
  if (detected === 'text/html') return declared === 'application/xhtml+xml';
  if (declared === 'application/xml') return detected.endsWith('+xml');
  return detected === 'application/xml' && declared.endsWith('+xml');
}

function isText(type: string): boolean {
  return type.startsWith('text/') || type.endsWith('xml') || signedTexts.has(type);
}

function toName(mimeType: string): string {
  const type = (mimeType.split(';')[0] ?? '').trim().toLowerCase();
  return nameOf.get(type) ?? type;
}
