import { setTimeout as delay } from 'node:timers/promises';
import { openDigests } from './digest.ts';
import { fixityOf, toValue } from './fixity.ts';
import type { IndexDb, InlineObject } from './index-db.ts';
import { moveToPack } from './move-to-pack.ts';
import type { Packs } from './packs.ts';
import type { Room } from './room.ts';

/** How many objects are moved in one transaction: 256 KiB at most. */
const movedAtOnce = 16;

/**
 * Moves the bytes of small objects that earlier versions have put into the index to packs, a little at a time. What is
 * damaged stays where it is. Returns how many were moved.
 *
 * @throws NoRoom, or the system's error; the rest is moved after the next start
 */
export async function moveInline(
  { index, packs, room }: { index: IndexDb; packs: Packs; room: Room },
  goesOn: () => boolean,
): Promise<number> {
  let after: Buffer | undefined;
  let moved = 0;
  while (goesOn()) {
    const begun = performance.now();
    const { objects, last } = index.inlineAfter(after, movedAtOnce);
    if (!last) return moved;
    after = last;
    const sound: InlineObject[] = [];
    for (const object of objects) if (await isSound(object)) sound.push(object);
    const bytes = sound.reduce((sum, object) => sum + object.bytes.length, 0);
    const share = await room.begin(bytes, { written: () => 0, drained: async () => undefined });
    try {
      const isMeant = (record: { inline?: true }) => record.inline === true;
      await moveToPack(
        packs,
        index,
        sound.map(({ name, bytes }) => ({ name, bytes, isMeant })),
      );
    } finally {
      share.release();
    }
    moved += sound.length;
    // Takes at most half of the time away from uploads.
    await delay(performance.now() - begun);
  }
  return moved;
}

async function isSound({ record, bytes }: InlineObject): Promise<boolean> {
  if (!record.inline || bytes.length !== record.size) return false;
  const { name, value } = fixityOf(record);
  const running = openDigests([name]);
  await running.update(bytes);
  const digest = (await running.finish()).get(name);
  return digest !== undefined && toValue(name, digest) === value;
}
