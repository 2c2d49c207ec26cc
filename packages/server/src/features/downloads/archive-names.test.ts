import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toNameKey } from '../../tree/name-key.ts';
import { createEntryNames, toArchiveName, toSafeName, withNumber } from './archive-names.ts';

/** The rules on Microsoft's page, written differently from the code. */
function whyUnsafe(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (Buffer.byteLength(name) > 255) return 'is too long';
  for (const character of name) {
    if ('<>:"/\\|?*'.includes(character) || character < ' ' || character === '\u007f') return `has ${character}`;
  }
  if (name.endsWith('.') || name.endsWith(' ')) return 'ends badly';
  const [stem = ''] = name.toUpperCase().split('.');
  const devices = ['CON', 'PRN', 'AUX', 'NUL', 'CONIN$', 'CONOUT$'];
  for (const port of ['COM', 'LPT']) for (const digit of '0123456789¹²³') devices.push(port + digit);
  return devices.includes(stem.trimEnd()) ? 'is a device' : undefined;
}

/** Names that the library accepts, with many difficult parts. */
const parts = [
  'a',
  'A',
  'b',
  'é',
  'e\u0301',
  '写',
  '👍',
  '_',
  ' ',
  '.',
  ':',
  '?',
  '*',
  '"',
  '<',
  '>',
  '|',
  ' (2)',
  '.txt',
];
const devices = ['con', 'NUL', 'aux.txt', 'COM1', 'com¹.tar.gz', 'LPT9 .x', 'CONIN$', 'com', 'com10', 'console'];
const libraryName = fc
  .oneof(
    {
      weight: 4,
      arbitrary: fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
    },
    { weight: 1, arbitrary: fc.constantFrom(...devices) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom('con.', 'x', '写', '. '),
          fc.constantFrom('x', '. ', '写'),
          fc.constantFrom('.jpg', '', '. y'),
        )
        .map(([start, filling, end]) => {
          let name = start;
          while (Buffer.byteLength(name + filling + end) <= 255) name += filling;
          return name + end;
        }),
    },
  )
  .filter((name) => name !== '.' && name !== '..');

describe('a safe name', () => {
  test.each([
    ['C:', 'C_'],
    ['é: "1" <2>|3?*', 'é_ _1_ _2__3__'],
    ['nul', '_nul'],
    ['con.txt', '_con.txt'],
    ['Aux .tar.gz', '_Aux .tar.gz'],
    ['COM¹', '_COM¹'],
    ['lpt0', '_lpt0'],
    ['conout$.x', '_conout$.x'],
    ['a?b', 'a_b'],
    ['ends. .', 'ends. _'],
    ['...', '.._'],
    [' ', '_'],
  ])('of %s is %s', (name, safe) => {
    expect(toSafeName(name)).toBe(safe);
  });

  test.each([
    '.env',
    'console',
    'com',
    'com10',
    'COMÉ',
    'aux_',
    'a.con',
    ' leading',
    '100% + #&;=@[]{}~`!^$',
    "it's",
    '写真 👍🏽',
    'עברית',
  ])('of %s is the same', (name) => {
    expect(toSafeName(name)).toBe(name);
  });

  test('can be written on every system, and is the name itself if that can', () => {
    fc.assert(
      fc.property(fc.oneof(libraryName, fc.string({ minLength: 1, maxLength: 60 })), (name) => {
        const safe = toSafeName(name);
        expect([safe, whyUnsafe(safe)]).toEqual([safe, undefined]);
        if (whyUnsafe(name) === undefined) expect(safe).toBe(name);
        expect(toSafeName(safe)).toBe(safe);
      }),
      { numRuns: 2000 },
    );
  });
});

test('a number goes before the ending, and a name that would be too long is cut', () => {
  expect(withNumber('photo.jpg', 2)).toBe('photo (2).jpg');
  expect(withNumber('.env', 3)).toBe('.env (3)');
  expect(withNumber('photo', 2)).toBe('photo (2)');
  expect(withNumber(`${'写'.repeat(84)}a.b`, 10)).toBe(`${'写'.repeat(82)} (10).b`);
  const long = withNumber(`a.${'x'.repeat(253)}`, 2);
  expect([Buffer.byteLength(long), long.endsWith('x (2)')]).toEqual([255, true]);
});

test('the archive itself has a safe name', () => {
  expect(['A:B', 'nul', 'x.ZIP', 'a/b\\c'].map(toArchiveName)).toEqual(['A_B.zip', '_nul.zip', 'x.ZIP', 'a_b_c.zip']);
});

describe('the names of entries', () => {
  /** Names folders, then files in the order of their keys, as the library does. */
  async function nameAll(folders: readonly string[], files: readonly string[]): Promise<string[]> {
    const keyOf = (name: string) => toNameKey(name);
    const folderKeys = new Set(folders.map(keyOf));
    const all = new Set([...folders, ...files].map(keyOf));
    const names = createEntryNames((name) => all.has(keyOf(name)));
    const given: string[] = [];
    for (const name of folders) given.push(await names.give(name, false));
    const sorted = [...files].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
    for (const [i, name] of sorted.entries()) {
      const before = sorted[i - 1];
      const isRepeated = before !== undefined && keyOf(before) === keyOf(name);
      given.push(await names.give(name, isRepeated || folderKeys.has(keyOf(name))));
    }
    return given;
  }

  test('stay unchanged; a changed name gets a number if another entry has it', async () => {
    expect(await nameAll(['a:b'], ['a*b', 'a_b', 'A?b', 'a_B (2)', 'c.txt', 'C.txt'])).toEqual([
      'a_b (3)',
      'a_b (4)',
      'A_b (5)',
      'a_b',
      'a_B (2)',
      'c.txt',
      'C (2).txt',
    ]);
  });

  test('are safe and differ, even ignoring case and Unicode form', async () => {
    const set = fc.uniqueArray(libraryName, { maxLength: 12, selector: toNameKey });
    await fc.assert(
      fc.asyncProperty(set, fc.array(libraryName, { maxLength: 24 }), async (folders, files) => {
        const given = await nameAll(folders, files);
        expect(new Set(given.map(toNameKey)).size).toBe(given.length);
        for (const name of given) expect([name, whyUnsafe(name)]).toEqual([name, undefined]);
        // A name that can stay does stay: it is safe, and the only one of its kind.
        const keys = [...folders, ...files].map(toNameKey);
        const kept = [...folders, ...files].filter(
          (name) =>
            whyUnsafe(name) === undefined && keys.indexOf(toNameKey(name)) === keys.lastIndexOf(toNameKey(name)),
        );
        for (const name of kept) expect(given).toContain(name);
      }),
      { numRuns: 1000 },
    );
  });

  test('of a hundred thousand entries with one safe name are found without trying each number again', async () => {
    let asked = 0;
    const names = createEntryNames(() => {
      asked += 1;
      return false;
    });
    let last = '';
    for (let n = 0; n < 100_000; n += 1) last = await names.give('a?', n > 0);
    expect(last).toBe('a_ (100000)');
    // Almost no name is asked for twice.
    expect(asked).toBeLessThan(100_100);
  });
});
