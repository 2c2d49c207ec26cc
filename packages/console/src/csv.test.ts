import { expect, test } from 'vitest';
import { toCsv } from './csv.ts';

test('a table as CSV: quotes what needs it, leaves out null, and defuses formulas', () => {
  const rows = [
    ['name', 'bytes', 'at'],
    ['a "b", c\nd', 12, null],
    ['=HYPERLINK("https://example.com")', -1, '2026-11-21'],
    ['a; b;=1+1', 0, '-'],
  ];
  expect(toCsv(rows)).toBe(
    'name,bytes,at\r\n"a ""b"", c\nd",12,\r\n"\'=HYPERLINK(""https://example.com"")",-1,2026-11-21\r\na; b;\'=1+1,0,\'-\r\n',
  );
});
