import { expect, test } from 'vitest';
import { isTyped } from './typed.ts';

test('a name is typed as it is seen', () => {
  expect(isTyped('Café two', 'Cafe\u0301  two ')).toBe(true);
  expect(isTyped('café two', 'Cafe\u0301  two ')).toBe(false);
  expect(isTyped('', 'Café')).toBe(false);
});
