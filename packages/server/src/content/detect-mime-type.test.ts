import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectMimeType, sampleBytes } from './detect-mime-type.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154', 'hex');
const mp4 = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex');
const latin1 = (text: string) => Buffer.from(text, 'latin1');

function toZip(names: readonly string[]): Buffer {
  return Buffer.concat(
    names.map((name) => {
      const data = deflateRawSync(Buffer.from('<xml/>'));
      const header = Buffer.alloc(30);
      header.writeUInt32LE(0x04034b50, 0);
      header.writeUInt16LE(20, 4);
      header.writeUInt16LE(8, 8);
      header.writeUInt32LE(data.length, 18);
      header.writeUInt32LE(6, 22);
      header.writeUInt16LE(name.length, 26);
      return Buffer.concat([header, Buffer.from(name), data]);
    }),
  );
}

test.each<[string, Buffer, string | null]>([
  ['a PNG', png, 'image/png'],
  ['a JPEG', Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/jpeg'],
  ['a GIF', latin1('GIF89a;'), 'image/gif'],
  ['a WebP', latin1('RIFF\x20\0\0\0WEBPVP8 '), 'image/webp'],
  ['a TIFF whose directory is at its end', latin1('II*\0\x00\x20\0\0aaaa'), 'image/tiff'],
  ['the same in the other byte order', latin1('MM\0*\0\0\x20\x00aaaa'), 'image/tiff'],
  ['text that begins like a TIFF', Buffer.from('II* is two'), null],
  ['a PDF', latin1('%PDF-1.7\n'), 'application/pdf'],
  ['an MP4', mp4, 'video/mp4'],
  ['a ZIP', toZip(['a.txt']), 'application/zip'],
  ['an empty ZIP', latin1(`PK\x05\x06${'\0'.repeat(18)}`), 'application/zip'],
  ['gzip', gzipSync('hello'), 'application/gzip'],
  ['a Windows program', Buffer.concat([latin1('MZ\x90\0\x03'), Buffer.alloc(100)]), 'application/x-msdownload'],
  ['a text about cars', Buffer.from('BMW is a maker of cars'), null],
  ['a text about Mozart', Buffer.from('MZ, as he signed'), null],
  ['text', Buffer.from('Hello'), null],
  ['text in UTF-16', Buffer.from('\ufeffHello', 'utf16le'), null],
  ['JSON', Buffer.from('{"a":1}'), null],
  ['nothing', Buffer.alloc(0), null],
  ['XML', Buffer.from('<?xml version="1.0"?><feed/>'), 'application/xml'],
  ['XML in UTF-16', Buffer.from('\ufeff<?xml version="1.0"?><feed/>', 'utf16le'), 'application/xml'],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  ['SVG with a byte order mark and space', Buffer.from('\ufeff \n<svg>'), 'image/svg+xml'],
  ['SVG in UTF-16', Buffer.from('\ufeff<svg/>', 'utf16le'), 'image/svg+xml'],
  ['SVG in UTF-16, the other way round', Buffer.from('\ufeff<svg/>', 'utf16le').swap16(), 'image/svg+xml'],
  [
    'SVG under a prefix',
    Buffer.from('<?xml version="1.0"?><s:svg xmlns:s="http://www.w3.org/2000/svg"/>'),
    'image/svg+xml',
  ],
  [
    'SVG behind a prolog',
    Buffer.from('<?xml version="1.0"?>\n<!-- <b> --><?style a?><!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY x "y">]>\n<svg>'),
    'image/svg+xml',
  ],
  ['SVG behind a comment', Buffer.from('<!-- made by hand --><svg>'), 'image/svg+xml'],
  ['a comment that does not end', Buffer.from('<!-- <svg>'), null],
  ['HTML', Buffer.from('\n <!DOCTYPE html><title>x</title>'), 'text/html'],
  ['HTML without a doctype', Buffer.from('<script>alert(1)</script>'), 'text/html'],
  ['HTML with an SVG in it', Buffer.from('<html><svg></svg></html>'), 'text/html'],
  ['XHTML', Buffer.from('<?xml version="1.0"?><!DOCTYPE html><html>'), 'application/xhtml+xml'],
  ['a comparison', Buffer.from('<5 apples'), null],
])('%s', async (_what, bytes, expected) => {
  expect(await detectMimeType(bytes)).toBe(expected);
});

/** Beginnings that make a parser read on: chunks, boxes, entries and lengths determined by the bytes that follow. */
const beginnings = [
  png,
  mp4,
  toZip(['[Content_Types].xml', 'word/document.xml']),
  toZip(['mimetype']),
  gzipSync('hello'),
  latin1('PK\x03\x04'),
  latin1('ID3\x04\0\0\x7f\x7f\x7f\x7f'),
  latin1('\x1aE\xdf\xa3'),
  latin1('\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9'),
  latin1('RIFF'),
  latin1('OggS'),
  latin1('II*\0'),
  latin1('MM\0*'),
  latin1('II\x2b\0'),
  latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'),
  latin1('FORM'),
  latin1('\xff\xfb'),
  latin1('\xff\xd8\xff'),
  latin1('Rar!'),
  latin1('7z\xbc\xaf\x27\x1c'),
  latin1('!<arch>\n'),
  latin1('ustar'.padStart(262, '\0')),
  latin1('%!PS'),
  latin1('8BPS'),
  latin1('<?xml '),
  latin1('<!--'),
  latin1('\0\0\0\x0cjP  '),
  latin1('\x04\0\0\0'),
  latin1('xar!'),
  latin1('PAR1'),
  latin1('BEGIN:'),
];

describe('hostile bytes neither throw nor hang', () => {
  const isType = (found: string | null) => found === null || /^[a-z]+\/[\w.+-]+$/.test(found);

  test('behind the beginning of every kind of format', async () => {
    const tail = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      fc.array(fc.constantFrom(0, 0, 1, 0x7f, 0x80, 0xff), { maxLength: 600 }).map((bytes) => Uint8Array.from(bytes)),
      fc.uint8Array({ minLength: sampleBytes - 100, maxLength: sampleBytes }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...beginnings), fc.nat({ max: 100 }), tail, async (start, cut, bytes) => {
        const length = cut < 70 ? start.length : Math.floor((start.length * (100 - cut)) / 30);
        const sample = Buffer.concat([start.subarray(0, length), bytes]).subarray(0, sampleBytes);
        expect(isType(await detectMimeType(sample))).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test('with any byte of a real header changed', async () => {
    for (const start of beginnings) {
      const sample = Buffer.concat([start, Buffer.alloc(64)]);
      for (let at = 0; at < Math.min(start.length, 64); at++) {
        for (const value of [0, 1, 0x7f, 0xff]) {
          const changed = Buffer.from(sample);
          changed[at] = value;
          expect(isType(await detectMimeType(changed))).toBe(true);
        }
      }
    }
  });

  test('cut at any length', async () => {
    for (const start of beginnings) {
      for (let length = 0; length < start.length; length++) {
        expect(isType(await detectMimeType(start.subarray(0, length)))).toBe(true);
      }
    }
  });

  test('that open a thousand comments, or one that fills the sample', async () => {
    for (const text of [
      '<!-->'.repeat(900),
      `<!--${'-'.repeat(4000)}`,
      `<?xml ${'<'.repeat(4000)}`,
      `<${'a.'.repeat(2000)}`,
    ]) {
      expect(isType(await detectMimeType(Buffer.from(text)))).toBe(true);
    }
  });
});
