import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { openRoom } from './room.ts';

const full = { name: 'NoRoom' };
const written = (bytes: () => number) => ({ written: bytes, drained: async () => undefined });
const nothing = written(() => 0);

/** A share of what is free now. */
function shareOf(share: number): number {
  const { bavail, bsize } = statfsSync(tmpdir());
  return Math.floor(bavail * bsize * share);
}

test('an upload that does not fit now is refused before it begins; what others have promised does not count', async () => {
  const room = openRoom(tmpdir());
  const promised = [await room.begin(shareOf(0.8), nothing), await room.begin(shareOf(0.8), nothing)];
  await expect(room.begin(shareOf(1.1), nothing)).rejects.toMatchObject(full);
  for (const share of promised) share.release();
});

test('bytes count as soon as they are taken, and are forgotten with their upload', async () => {
  const room = openRoom(tmpdir());
  const half = await room.begin(shareOf(0.5), nothing);
  await half.take(shareOf(0.5));
  await expect(room.begin(shareOf(0.7), nothing)).rejects.toMatchObject(full);
  half.release();
  (await room.begin(shareOf(0.7), nothing)).release();
});

test('what frees room may take what is free, besides what uploads have taken', async () => {
  const room = openRoom(tmpdir());
  expect([await room.hasSpare(shareOf(0.7)), await room.hasSpare(shareOf(1.1))]).toEqual([true, false]);
  const half = await room.begin(shareOf(0.5), nothing);
  await half.take(shareOf(0.5));
  expect(await room.hasSpare(shareOf(0.7))).toBe(false);
  half.release();
});

test('bytes already on the disk when it was measured are not counted again', async () => {
  const room = openRoom(tmpdir());
  const bytes = shareOf(0.5);
  let onDisk = 0;
  const half = await room.begin(
    bytes,
    written(() => onDisk),
  );
  await half.take(bytes);
  await expect(room.begin(shareOf(0.7), nothing)).rejects.toMatchObject(full);
  onDisk = bytes;
  (await room.begin(shareOf(0.7), nothing)).release();
  half.release();
  (await room.begin(shareOf(0.7), nothing)).release();
});

test('one upload gives way at a time, and the others go on once it is gone', async () => {
  const room = openRoom(tmpdir());
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => room.begin(shareOf(0.7), nothing)));
  if (!first || !second || !third) throw new Error('none began');
  await first.take(shareOf(0.3));
  await second.take(shareOf(0.3));
  await expect(Promise.resolve(third.take(shareOf(0.6)))).rejects.toMatchObject(full);
  let hasRoom = false;
  const waiting = Promise.resolve(first.take(shareOf(0.1))).then(() => {
    hasRoom = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(hasRoom).toBe(false);
  third.release();
  await waiting;
  await expect(Promise.resolve(second.take(shareOf(0.6)))).rejects.toMatchObject(full);
  for (const share of [first, second]) share.release();
});

test('bytes that are being written are not counted twice before an upload is refused', async () => {
  const room = openRoom(tmpdir());
  const bytes = shareOf(0.5);
  let onDisk = 0;
  const drained = async () => {
    onDisk = bytes;
  };
  const half = await room.begin(bytes, { written: () => onDisk, drained });
  await half.take(bytes);
  (await room.begin(shareOf(0.7), nothing)).release();
  half.release();
});

test('a removal that takes long keeps no upload waiting that has room meanwhile', async () => {
  const room = openRoom(tmpdir(), () => new Promise(() => undefined));
  const bytes = shareOf(0.5);
  let onDisk = 0;
  const half = await room.begin(
    bytes,
    written(() => onDisk),
  );
  await half.take(bytes);
  const waiting = room.begin(shareOf(0.7), nothing);
  await new Promise((resolve) => setTimeout(resolve, 50));
  onDisk = bytes;
  (await waiting).release();
  half.release();
});

test('an upload without room is refused although the removal goes on', async () => {
  const room = openRoom(tmpdir(), () => new Promise(() => undefined), 10);
  await expect(room.begin(shareOf(1.1), nothing)).rejects.toMatchObject(full);
});

test('an upload is not refused before what is being removed is gone', async () => {
  let finish = (): void => undefined;
  const removal = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let isRemoved = false;
  const room = openRoom(tmpdir(), () => removal);
  const refused = room.begin(shareOf(1.1), nothing).catch(() => isRemoved);
  await new Promise((resolve) => setTimeout(resolve, 50));
  isRemoved = true;
  finish();
  expect(await refused).toBe(true);
});
