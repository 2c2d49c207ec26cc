import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { openRoom } from './room.ts';

test('claims that were granted count at once, also before the disk is asked again', async () => {
  const { bavail, bsize } = statfsSync(tmpdir());
  const room = openRoom(tmpdir());
  const half = await room.claim(Math.floor((bavail * bsize) / 2));
  await expect(room.claim(Math.floor((bavail * bsize) / 2))).rejects.toMatchObject({ code: 'InsufficientStorage' });
  half.release();
  const again = await room.claim(Math.floor((bavail * bsize) / 2));
  again.release();
});
