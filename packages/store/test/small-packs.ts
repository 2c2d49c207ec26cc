import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Compactor, openCompactor } from '../src/disk/compactor.ts';
import { type IndexDb, openIndexDb } from '../src/disk/index-db.ts';
import { openJournal } from '../src/disk/journal.ts';
import type { Log } from '../src/disk/log.ts';
import { openPacks, type Packs } from '../src/disk/packs.ts';
import { openRoom, type Room } from '../src/disk/room.ts';
import type { LetGo } from '../src/disk/upload-index.ts';
import { bucket } from './running-store.ts';

export interface SmallPacks {
  index: IndexDb;
  packs: Packs;
  compactor: Compactor;
  put(key: string, text: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** As a GET does: if a pack is gone, the index is asked again. Undefined if there is no such object. */
  read(key: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The part of a store that keeps small objects, with packs of few bytes. */
export async function openSmallPacks(
  folder: string,
  options: { flushJournal?: () => Promise<boolean>; hasSpare?: Room['hasSpare']; log?: Log } = {},
): Promise<SmallPacks> {
  const log = options.log ?? (() => undefined);
  const index = await openIndexDb(join(folder, 'index'));
  await index.createBucket(bucket, { createdAt: 1 });
  const journal = await openJournal({ folder, tables: index.tables, log });
  const packs = await openPacks({
    folder,
    known: index.packs.all(),
    begin: index.packs.begin,
    onClosed: (pack) => compactor.consider(pack),
    log,
    bytesPerPack: 20_000,
  });
  const flushJournal = options.flushJournal ?? journal.flush;
  const room = openRoom(folder);
  const hasSpare = options.hasSpare ?? room.hasSpare;
  const compactor = openCompactor({ index, packs, room: { ...room, hasSpare }, flushJournal, log });
  for (const pack of index.packs.all().keys()) compactor.consider(pack);

  function tell(released: readonly LetGo[]): void {
    for (const each of released) if (typeof each !== 'string' && 'pack' in each) compactor.consider(each.pack);
  }

  async function readOnce(key: string): Promise<string | undefined> {
    const record = index.findObject(bucket, key);
    if (!record?.packed) return undefined;
    return String(await packs.read(index.nameOf(bucket, key), record.packed, record.size));
  }

  return {
    index,
    packs,
    compactor,
    put: async (key, text) => {
      const etag = createHash('md5').update(text).digest('hex');
      const record = { size: Buffer.byteLength(text), etag, lastModified: 0, headers: {}, metadata: {} };
      const entry = await packs.append(index.nameOf(bucket, key), Buffer.from(text));
      try {
        tell((await index.putObject(bucket, key, record, { entry })).removed);
      } finally {
        packs.settle(entry);
      }
    },
    remove: async (key) => tell((await index.deleteObjects(bucket, [{ key }])).removed),
    read: async (key) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await readOnce(key);
        } catch (error) {
          const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
          if (!isGone || attempt === 5) throw error;
        }
      }
    },
    close: async () => {
      await compactor.close();
      await packs.close();
      await journal.close();
      await index.close();
    },
  };
}
