import { expect, test } from 'vitest';
import { changedOf, toChangedFacts } from './compare.ts';
import { toChanged } from './local-tree.ts';

test('a time of the last change that no Date can be is kept as the last one that can', () => {
  const changed = toChanged({ mtimeMs: 8_640_000_000_001_000 });
  const metadata = toChangedFacts(changed, undefined);
  expect(metadata).toEqual({ mtime: '+275760-09-13T00:00:00.000Z' });
  expect(changedOf({ metadata, sha256: null, etag: '' })).toBe(changed);
});
