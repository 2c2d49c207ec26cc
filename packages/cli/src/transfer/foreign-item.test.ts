import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { toForeignItem } from './foreign-item.ts';

test('a large file whose store breaks off while it is compared is read again', async () => {
  const bytes = Buffer.alloc(64 * 1024 ** 2);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  let reads = 0;
  const item = toForeignItem({
    path: 'large.bin',
    size: bytes.length,
    sha256,
    changed: undefined,
    look: async () => ({ type: 'text/plain', metadata: {} }),
    async *read() {
      reads += 1;
      yield bytes.subarray(0, 10);
      if (reads === 1) throw new TypeError('terminated');
      yield bytes.subarray(10);
    },
  });
  expect([(await item.open()).checksum, reads]).toEqual([sha256, 2]);
});
