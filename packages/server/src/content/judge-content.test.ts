import { describe, expect, test } from 'vitest';
import { judgeContent } from './judge-content.ts';

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Decision 0026 as a table: the declared type, and the type that the first bytes show. */
describe.each<[string, [declared: string, detected: string | null][]]>([
  [
    'match',
    [
      ['image/png', 'image/png'],
      ['IMAGE/PNG; charset=binary', 'image/png'],
      ['image/jpg', 'image/jpeg'],
      ['image/png', 'image/apng'],
      ['image/heic', 'image/heif'],
      ['audio/mp4', 'video/mp4'],
      ['video/mp4', 'audio/x-m4a'],
      ['video/quicktime', 'video/mp4'],
      ['audio/ogg', 'video/ogg'],
      ['video/webm', 'video/matroska'],
      ['audio/x-wav', 'audio/wav'],
      ['application/x-zip-compressed', 'application/zip'],
      [docx, 'application/zip'],
      ['application/zip', docx],
      ['application/epub+zip', 'application/zip'],
      ['application/vnd.android.package-archive', 'application/zip'],
      ['application/msword', 'application/x-cfb'],
      [docx, 'application/x-cfb'],
      ['text/xml', 'application/xml'],
      ['image/svg+xml', 'application/xml'],
      ['image/svg+xml', 'image/svg+xml'],
      ['application/xml', 'image/svg+xml'],
      ['application/atom+xml', 'application/xml'],
      ['application/xhtml+xml', 'text/html'],
      ['text/html', 'application/xhtml+xml'],
      ['text/plain', 'text/html'],
      ['text/markdown', 'text/html'],
      ['text/plain', 'application/pgp-encrypted'],
      ['image/x-nikon-nef', 'image/tiff'],
      ['image/tiff', 'image/x-adobe-dng'],
      ['application/octet-stream', 'application/x-msdownload'],
      ['application/octet-stream', null],
      ['binary/octet-stream', 'text/html'],
    ],
  ],
  [
    'mismatch',
    [
      ['image/png', 'image/jpeg'],
      ['image/png', 'text/html'],
      ['image/png', 'image/svg+xml'],
      ['image/png', 'application/xml'],
      ['image/jpeg', 'application/x-msdownload'],
      ['image/svg+xml', 'text/html'],
      ['image/svg+xml', 'image/png'],
      ['application/pdf', 'text/html'],
      ['application/json', 'text/html'],
      ['application/xml', 'text/html'],
      ['text/plain', 'image/png'],
      ['text/html', 'application/pdf'],
      ['audio/mpeg', 'video/mp4'],
      ['video/mp4', 'video/webm'],
      [docx, xlsx],
      [docx, 'application/pdf'],
      ['application/msword', 'application/zip'],
      ['image/png', 'application/zip'],
      // Formats that always begin with their signature, in files without one.
      ['image/png', null],
      ['image/jpg', null],
      ['image/webp', null],
    ],
  ],
  [
    'unknown',
    [
      ['text/plain', null],
      ['text/csv', null],
      ['application/json', null],
      ['video/mp4', null],
      ['application/pdf', null],
      ['application/x-something-new', null],
    ],
  ],
])('%s', (verdict, cases) => {
  test.each(cases)('%s that shows %s', (declared, detected) => {
    expect(judgeContent(declared, detected, 100)).toBe(verdict);
  });
});

test('an empty file shows nothing, whatever it is declared as', () => {
  expect(judgeContent('image/png', null, 0)).toBe('unknown');
});
