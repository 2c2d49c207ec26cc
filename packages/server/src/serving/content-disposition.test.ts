import { parse } from 'content-disposition';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toContentDisposition } from './content-disposition.ts';

/**
 * Pieces that end a quoted string, a parameter or a header, are decoded twice, or are read differently by different
 * readers.
 */
const hostilePieces = [
  ...['"', '\\"', '\\', "'", "''", ';', ',', '=', '*', '(', ')', '<', '>', ' ', '%', '%22', '%0d%0a', '%00', '%zz'],
  ...['\r\n', '\n', '\0', '\t', '\x7f', '\x85', '\u2028', '\u202e', 'é', '写', '👍🏽'],
  ...['; filename=evil.html', `"; filename*=UTF-8''evil.html`, '\r\nSet-Cookie: a=b', 'photo.jpg'],
];
const names = fc
  .array(fc.oneof(fc.constantFrom(...hostilePieces), fc.string({ unit: 'binary', maxLength: 3 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((pieces) => pieces.join(''))
  .filter((name) => name.isWellFormed());

/** RFC 6266 with a quoted string that needs no escape, and the extended value of RFC 8187. */
const grammar =
  /^(?:inline|attachment); filename="[\x20\x21\x23\x24\x26-\x5b\x5d-\x7e]*"(?:; filename\*=UTF-8''(?:[\w!#$&+.^`|~-]|%[0-9A-F]{2})*)?$/;

describe('no name breaks out of the header (checklist 43, T16)', () => {
  test('any name is read back unchanged from a header that follows the grammar', () => {
    fc.assert(
      fc.property(names, fc.constantFrom('inline' as const, 'attachment' as const), (fileName, disposition) => {
        const header = toContentDisposition(disposition, fileName);
        expect(header).toMatch(grammar);
        const read = parse(header);
        expect([read.type, read.parameters]).toEqual([disposition, expect.objectContaining({ filename: fileName })]);
      }),
      { numRuns: 5_000, examples: hostilePieces.map((name): [string, 'attachment'] => [name, 'attachment']) },
    );
  });

  test.each([
    ['photo.jpg', 'attachment; filename="photo.jpg"'],
    ['a b.txt', 'attachment; filename="a b.txt"'],
    ['Übersicht.pdf', `attachment; filename="_bersicht.pdf"; filename*=UTF-8''%C3%9Cbersicht.pdf`],
    ['写真.png', `attachment; filename="__.png"; filename*=UTF-8''%E5%86%99%E7%9C%9F.png`],
    ['👍🏽.gif', `attachment; filename="__.gif"; filename*=UTF-8''%F0%9F%91%8D%F0%9F%8F%BD.gif`],
    ['say "hi".txt', `attachment; filename="say _hi_.txt"; filename*=UTF-8''say%20%22hi%22.txt`],
    ['100%41.txt', `attachment; filename="100_41.txt"; filename*=UTF-8''100%2541.txt`],
    ["it's (1)*é", `attachment; filename="it's (1)*_"; filename*=UTF-8''it%27s%20%281%29%2A%C3%A9`],
    ['a;b=c,d.txt', 'attachment; filename="a;b=c,d.txt"'],
  ])('%s', (fileName, header) => {
    expect(toContentDisposition('attachment', fileName)).toBe(header);
  });
});
