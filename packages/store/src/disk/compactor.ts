import { setTimeout as delay } from 'node:timers/promises';
import type { IndexDb, Move } from './index-db.ts';
import { brokenRecord } from './index-table.ts';
import type { Journal } from './journal.ts';
import type { Log } from './log.ts';
import { entriesOf, type FoundEntry } from './pack-entry.ts';
import type { Packs } from './packs.ts';
import type { Room } from './room.ts';
import type { LetGo } from './upload-index.ts';

/** Gives back the space of what was removed from packs. */
export interface Compactor {
  /** Something in this pack was removed, or it was closed. */
  consider(pack: string): void;
  /** Resolves when nothing is left to do. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface CompactorOptions {
  index: IndexDb;
  packs: Packs;
  room: Room;
  /** Makes the journal durable. False if it cannot: it may then refer to packs that are about to be removed. */
  flushJournal: Journal['flush'];
  log: Log;
}

/** A pack is rewritten when less of it is in use. */
const leastUsedShare = 0.5;
/** How much is moved in one transaction. */
const movedBytes = 256 * 1024;

/**
 * Copies what is left in a pack that is less than half in use to the current pack, like an upload, and then removes the
 * pack. Damaged entries are not copied: their pack stays until their objects are deleted or replaced.
 */
export function openCompactor({ index, packs, room, flushJournal, log }: CompactorOptions): Compactor {
  let due = new Set<string>();
  /** Packs that could not be removed: tried again when another one is due. */
  const postponed = new Set<string>();
  /** Packs with entries that cannot be moved: removed once nothing in them is in use. */
  const stuck = new Set<string>();
  let running: Promise<void> | undefined;
  let closing = false;

  function consider(pack: string): void {
    if (closing || !isDue(pack)) return;
    due.add(pack);
    for (const again of postponed) due.add(again);
    postponed.clear();
    running ??= compactAll().finally(() => {
      running = undefined;
    });
  }

  function isDue(pack: string): boolean {
    const record = index.packs.find(pack);
    if (!record || record === brokenRecord || !packs.isClosed(pack)) return false;
    // This index may be an older copy, and a newer one would look for what is moved where it was.
    if (packs.setAside > 0) return false;
    return record.liveBytes === 0 || (!stuck.has(pack) && record.liveBytes < packs.sizeOf(pack) * leastUsedShare);
  }

  async function compactAll(): Promise<void> {
    while (due.size > 0 && !closing) {
      const round = due;
      due = new Set();
      for (const pack of round) {
        if (closing) return;
        try {
          if (isDue(pack)) await compact(pack);
        } catch (error) {
          postponed.add(pack);
          log({ level: 'warn', message: 'A pack could not be rewritten.', pack, error: String(error) });
        }
      }
    }
  }

  async function compact(pack: string): Promise<void> {
    const before = index.packs.find(pack);
    if (!before || before === brokenRecord) return;
    if (before.liveBytes > 0) {
      if (!(await room.hasSpare(before.liveBytes))) return void postponed.add(pack);
      await moveLive(pack);
    }
    const record = index.packs.find(pack);
    if (closing || !record || record === brokenRecord) return;
    if (record.liveBytes > 0) {
      stuck.add(pack);
      log({ level: 'warn', message: 'A pack has entries that cannot be moved. Run cadiz-store verify.', pack });
      return;
    }
    if (!(await flushJournal())) return void postponed.add(pack);
    await packs.retire(pack, record.knownBytes);
    await index.packs.forget(pack);
  }

  async function moveLive(pack: string): Promise<void> {
    let batch: FoundEntry[] = [];
    let bytes = 0;
    for (const entry of entriesOf(await packs.readWhole(pack))) {
      if (closing) return;
      if (!isLive(pack, entry)) continue;
      batch.push(entry);
      bytes += entry.bytes.length;
      if (bytes < movedBytes) continue;
      await moveBatch(pack, batch);
      batch = [];
      bytes = 0;
    }
    await moveBatch(pack, batch);
  }

  function isLive(pack: string, { name, at, bytes }: FoundEntry): boolean {
    const record = index.findByName(name);
    return record?.packed?.pack === pack && record.packed.at === at && record.size === bytes.length;
  }

  async function moveBatch(pack: string, batch: readonly FoundEntry[]): Promise<void> {
    if (batch.length === 0) return;
    const begun = performance.now();
    const moves = batch.map(({ name, at, bytes }) => ({
      name,
      bytes,
      isMeant: ({ packed }: { packed?: { pack: string; at: number } }) => packed?.pack === pack && packed.at === at,
    }));
    reconsider(await moveTo(packs, index, moves), pack);
    // Takes at most half of the time away from uploads.
    await delay(performance.now() - begun);
  }

  /** What was copied for nothing, because the object is another one by now. */
  function reconsider(released: readonly LetGo[], from: string): void {
    for (const each of released)
      if (typeof each !== 'string' && 'pack' in each && each.pack !== from) consider(each.pack);
  }

  return {
    consider,
    settled: async () => {
      while (running) await running;
    },
    close: async () => {
      closing = true;
      await running;
    },
  };
}

/**
 * Appends bytes to a pack, and lets the index refer to them there.
 *
 * @throws a system error if they cannot be written; then the index refers to what it did before
 */
export async function moveTo(
  packs: Packs,
  index: IndexDb,
  copies: readonly (Omit<Move, 'entry'> & { bytes: Buffer })[],
): Promise<LetGo[]> {
  const appended = await Promise.allSettled(copies.map(({ name, bytes }) => packs.append(name, bytes)));
  const moves = appended.flatMap((result, at) => {
    const copy = copies[at];
    return result.status === 'fulfilled' && copy ? [{ ...copy, entry: result.value }] : [];
  });
  try {
    for (const result of appended) if (result.status === 'rejected') throw result.reason;
    return await index.move(moves);
  } finally {
    for (const { entry } of moves) packs.settle(entry);
  }
}
