import type { PackRecord } from './index-record.ts';
import { type Broken, brokenRecord } from './index-table.ts';
import type { IndexTables } from './index-tables.ts';

/** What changes about a pack, in bytes. */
export interface PackChange {
  /** By how much more, or less, of it is in use. */
  more?: number;
  less?: number;
  /** Up to here, its entries are known from now on; see PackRecord. */
  known?: number;
}

/** The packs, and how much of each is in use. Every method that writes resolves once that is durable, unless it says otherwise. */
export interface PackIndex {
  all(): ReadonlyMap<string, PackRecord | Broken>;
  find(pack: string): PackRecord | Broken | undefined;
  begin(pack: string): Promise<void>;
  /** Call it once the file of the pack is durably gone. */
  forget(pack: string): Promise<void>;
  /** Within a transaction. A pack whose record is broken stays so, and is kept. */
  change(pack: string, change: PackChange): void;
}

export function openPackIndex({ packs, commit }: Pick<IndexTables, 'packs' | 'commit'>): PackIndex {
  return {
    all: () => new Map([...packs.entries()].map(({ key, value }) => [key, value])),
    find: packs.get,
    begin: (pack) => commit(() => packs.put(pack, { liveBytes: 0, knownBytes: 0 })),
    forget: (pack) => commit(() => packs.remove(pack)),
    change: (pack, { more = 0, less = 0, known }) => {
      const record = packs.get(pack);
      if (!record || record === brokenRecord) return;
      packs.put(pack, { liveBytes: record.liveBytes + more - less, knownBytes: known ?? record.knownBytes });
    },
  };
}
