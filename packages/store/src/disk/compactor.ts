import type { IndexDb } from './index-db.ts';
import { brokenRecord } from './index-table.ts';
import type { Journal } from './journal.ts';
import type { Log } from './log.ts';
import { moveLive } from './move-live.ts';
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
    running ??= compactAll();
  }

  function isDue(pack: string): boolean {
    const record = index.packs.find(pack);
    if (!record || record === brokenRecord || !packs.isClosed(pack)) return false;
    // This index may be an older copy, and a newer one would look for what is moved where it was.
    if (packs.setAside > 0) return false;
    return record.liveBytes === 0 || (!stuck.has(pack) && record.liveBytes < packs.sizeOf(pack) * leastUsedShare);
  }

  async function compactAll(): Promise<void> {
    // What becomes due in the same turn is rewritten together.
    await undefined;
    while (due.size > 0 && !closing) {
      const round = due;
      due = new Set();
      for (const pack of round) {
        if (closing) break;
        try {
          if (isDue(pack)) await compact(pack);
        } catch (error) {
          postponed.add(pack);
          log({ level: 'warn', message: 'A pack could not be rewritten.', pack, error: String(error) });
        }
      }
    }
    // In the turn of the last look: what becomes due later must begin anew.
    running = undefined;
  }

  async function compact(pack: string): Promise<void> {
    const before = index.packs.find(pack);
    if (!before || before === brokenRecord) return;
    if (before.liveBytes > 0) {
      if (!(await room.hasSpare(before.liveBytes))) return void postponed.add(pack);
      const onReleased = (released: readonly LetGo[]) => reconsider(released, pack);
      await moveLive(pack, { index, packs, goesOn: () => !closing, onReleased });
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

  /** Considers where something was copied for nothing, because the object is another one by now. */
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
