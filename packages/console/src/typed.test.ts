import { expect, test } from 'vitest';
import { isTyped, toVisible } from './typed.ts';

test('a name is typed as it is seen', () => {
  expect(isTyped('Café two', 'Cafe\u0301  two ')).toBe(true);
  expect(isTyped('café two', 'Cafe\u0301  two ')).toBe(false);
  expect(isTyped('', 'Café')).toBe(false);
});

test('what has no width and turns text around need not be typed, and is not shown', () => {
  const name = '\ufeffPhotos\u200b of\u00ad \u202e2026\u200e';
  expect(isTyped('Photos of 2026', name)).toBe(true);
  expect(isTyped('Photos of 2025', name)).toBe(false);
  expect(toVisible(name)).toBe('Photos of 2026');
});
