import { expect, test } from 'vitest';
import { createFilter } from './filter.ts';

const paths = ['a.jpg', 'A.JPG', 'notes.txt', 'raw/b.jpg', 'sub/raw/c.jpg', 'sub/d.tmp', ' #1.txt', '..odd'];

test.each([
  [[], [], paths],
  [['*.jpg'], [], ['a.jpg', 'raw/b.jpg', 'sub/raw/c.jpg']],
  [[], ['*.jpg', '*.tmp'], ['A.JPG', 'notes.txt', ' #1.txt', '..odd']],
  [[], ['/raw'], paths.filter((path) => path !== 'raw/b.jpg')],
  [[], ['raw/'], paths.filter((path) => !path.includes('raw/'))],
  [['sub/**'], ['*.tmp'], ['sub/raw/c.jpg']],
  [['*.jpg', '!a.jpg'], [], ['raw/b.jpg', 'sub/raw/c.jpg']],
  [['a.???'], [], ['a.jpg']],
])('including %j and excluding %j selects %j', (include, exclude, expected) => {
  const filter = createFilter({ include, exclude });
  expect(paths.filter((path) => filter.selects(path, false))).toEqual(expected);
});
