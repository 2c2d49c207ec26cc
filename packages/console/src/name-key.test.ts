import { expect, test } from 'vitest';
import { isTyped, toNameKey } from './name-key.ts';

test.each([
  ['INVITE', 'invite'],
  ['Café', 'cafe\u0301'],
  ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
  ['STRASSE', 'straße'],
])('%s is the same name as %s', (one, other) => {
  expect(toNameKey(one)).toBe(toNameKey(other));
});

test('a name is typed as it is seen', () => {
  expect(isTyped('Café two', 'Cafe\u0301  two ')).toBe(true);
  expect(isTyped('café two', 'Cafe\u0301  two ')).toBe(false);
  expect(isTyped('', 'Café')).toBe(false);
});
