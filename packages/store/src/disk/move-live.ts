import { setTimeout as delay } from 'node:timers/promises';
import type { IndexDb } from './index-db.ts';
import type { ObjectRecord } from './index-record.ts';
import { moveToPack } from './move-to-pack.ts';
import { entriesOf, type FoundEntry } from './pack-entry.ts';
import type { Packs } from './packs.ts';
import type { LetGo } from './upload-index.ts';

/** How much is moved in one transaction. */
const movedBytes = 256 * 1024;

interface Moving {
  index: IndexDb;
  packs: Packs;
  /** Asked before each entry. */
  goesOn(): boolean;
  /** Told what `moveToPack` has released. */
  onReleased(released: readonly LetGo[]): void;
}

/**
 * Moves what is in use of a pack to the current pack, a little at a time. Damaged entries stay where they are.
 *
 * @throws a system error if the pack cannot be read, or the current one not written
 */
export async function moveLive(pack: string, moving: Moving): Promise<void> {
  let batch: FoundEntry[] = [];
  let bytes = 0;
  for (const entry of entriesOf(await moving.packs.readWhole(pack))) {
    if (!moving.goesOn()) return;
    if (!isLive(moving.index, pack, entry)) continue;
    batch.push(entry);
    bytes += entry.bytes.length;
    if (bytes < movedBytes) continue;
    await moveBatch(pack, batch, moving);
    batch = [];
    bytes = 0;
  }
  await moveBatch(pack, batch, moving);
}

function isLive(index: IndexDb, pack: string, { name, at, bytes }: FoundEntry): boolean {
  const record = index.findByName(name);
  return record?.packed?.pack === pack && record.packed.at === at && record.size === bytes.length;
}

async function moveBatch(
  pack: string,
  batch: readonly FoundEntry[],
  { index, packs, onReleased }: Moving,
): Promise<void> {
  if (batch.length === 0) return;
  const begun = performance.now();
  const copies = batch.map(({ name, at, bytes }) => ({
    name,
    bytes,
    isMeant: ({ packed }: ObjectRecord) => packed?.pack === pack && packed.at === at,
  }));
  onReleased(await moveToPack(packs, index, copies));
  // Takes at most half of the time away from uploads.
  await delay(performance.now() - begun);
}
