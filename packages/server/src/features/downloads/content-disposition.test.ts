import { parse } from 'content-disposition';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toContentDisposition } from './content-disposition.ts';

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

test('any name is read back as it is, from a header of printable ASCII (checklist 43, T16)', () => {
  const names = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 255 })
    .filter((name) => name.isWellFormed() && !/[\p{Cc}/\\]/u.test(name));
  fc.assert(
    fc.property(names, fc.constantFrom('inline' as const, 'attachment' as const), (fileName, disposition) => {
      const header = toContentDisposition(disposition, fileName);
      expect(header).toMatch(/^[\x20-\x7e]*$/);
      const read = parse(header);
      expect([read.type, read.parameters.filename]).toEqual([disposition, fileName]);
    }),
    { numRuns: 20_000 },
  );
});
