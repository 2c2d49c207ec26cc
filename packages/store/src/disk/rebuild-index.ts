import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openBlobs, syncFolder } from './blobs.ts';
import type { ObjectRecord, PackRecord } from './index-record.ts';
import { brokenRecord, type Change, type Table } from './index-table.ts';
import { type IndexTables, openIndexTables } from './index-tables.ts';
import { IndexUnusable } from './index-unusable.ts';
import { isThere, journalPath, openJournal } from './journal.ts';
import { readJournal, readJournalHead } from './journal-file.ts';
import { entryBytes } from './pack-entry.ts';
import { openPacks } from './packs.ts';
import { requireStore } from './require-index.ts';
import { lockStoreFolder } from './store.ts';

export interface Rebuilt {
  objects: number;
  /** Files that no object refers to, which were moved to set-aside/. */
  setAside: number;
  /** How often `onLoss` was called. */
  losses: number;
  /** Where the previous index and journal are now. */
  before: string;
}

/** What the new index lacks. */
export interface Loss {
  /** bucket/key, or "journal" */
  subject: string;
  sentence: string;
}

const changesOfATurn = 2000;
const entriesOfATurn = 500;

/**
 * Rebuilds the index of the store in `dataDir` from its journal and the blobs that exist. Removes nothing: the previous
 * index and journal, and blobs unknown to the new index, are moved aside. It can be interrupted at any moment and
 * started again.
 *
 * An object whose bytes are gone is left out: it was deleted or replaced just before the journal ends, or it is lost.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable, NoStoreFolder, IndexUnusable if there is no journal
 */
export async function rebuildIndex(dataDir: string, onLoss: (loss: Loss) => void): Promise<Rebuilt> {
  const folder = resolve(dataDir);
  await requireStore(folder);
  const lock = lockStoreFolder(folder);
  try {
    const path = journalPath(folder);
    if (!(await isThere(path))) throw IndexUnusable.withoutJournal(folder, 'is to be rebuilt');
    if (!(await readJournalHead(path)))
      throw IndexUnusable.withoutJournal(folder, 'is to be rebuilt (its journal is damaged)');
    let losses = 0;
    const tell = (loss: Loss) => {
      losses += 1;
      onLoss(loss);
    };
    await makeIndex(folder, tell);
    const before = await swap(folder);
    const { objects, setAside } = await settle(folder);
    return { objects, setAside, losses, before };
  } finally {
    lock.release();
  }
}

/** Creates `index.new`. */
async function makeIndex(folder: string, onLoss: (loss: Loss) => void): Promise<void> {
  const path = join(folder, 'index.new');
  await rm(path, { recursive: true, force: true });
  const tables = await openIndexTables(path);
  try {
    const sequence = await replay(journalPath(folder), tables, onLoss);
    const owners = await keepWhatIsThere(folder, tables, onLoss);
    await dropUnowned(folder, tables, owners);
    await listBlobs(tables);
    await listPacks(tables);
    await tables.beginHistory(sequence + 1);
  } finally {
    await tables.close();
  }
}

/** Repeats all changes of the journal, in order. Returns the sequence of the last one. */
async function replay(path: string, tables: IndexTables, onLoss: (loss: Loss) => void): Promise<number> {
  let changes: Change[] = [];
  let sequence: number | undefined;
  let damaged: number | undefined;
  const applyAll = () =>
    tables.commit(() => {
      for (const change of changes) tables.apply(change);
      changes = [];
    });
  for await (const { line, entry } of readJournal(path)) {
    if (damaged !== undefined) onLoss({ subject: 'journal', sentence: `line ${damaged} is damaged` });
    damaged = entry ? undefined : line; // at the very end it is a write that was cut short
    if (!entry) continue;
    if (sequence !== undefined && entry.sequence > sequence + 1) {
      const lacking = `changes ${sequence + 1} to ${entry.sequence - 1} are missing`;
      onLoss({ subject: 'journal', sentence: `${lacking}: what they replaced or deleted may be back` });
    }
    sequence = entry.sequence;
    // One by one: a transaction can have more changes than a call takes arguments.
    for (const change of entry.changes) changes.push(change);
    if (changes.length >= changesOfATurn) await applyAll();
  }
  await applyAll();
  return sequence ?? 0;
}

/** Removes objects and parts whose bytes are gone. Returns the uploads that the remaining objects are made of. */
async function keepWhatIsThere(
  folder: string,
  tables: IndexTables,
  onLoss: (loss: Loss) => void,
): Promise<ReadonlySet<string>> {
  const { objects, inline, parts, uploads, doomedUploads } = tables;
  const owners = new Set<string>();

  async function hasParts(uploadId: string, count: number): Promise<boolean> {
    let found = 0;
    for (const { value } of [...parts.entries({ start: `${uploadId}/`, end: `${uploadId}/~` })]) {
      if (value !== brokenRecord && (await hasFile(folder, value.blob))) found += 1;
    }
    return found === count;
  }

  function hasBytes(at: Uint8Array, { blob, packed, size, multipart }: ObjectRecord): Promise<boolean> | boolean {
    if (blob !== undefined) return hasFile(folder, blob);
    if (packed) return hasEntry(folder, packed.pack, packed.at + entryBytes(at, size));
    return multipart ? hasParts(multipart.uploadId, multipart.parts) : inline.has(at);
  }

  await eachPage(tables, objects, async (key, record) => {
    if (await hasBytes(key, record)) {
      if (record.multipart) owners.add(record.multipart.uploadId);
      return undefined;
    }
    const subject = Buffer.from(key).toString().replace('\0', '/');
    onLoss({ subject, sentence: 'its bytes are gone: it was deleted or replaced just before, or is lost' });
    return () => objects.remove(key);
  });
  for (const key of uploads.keys()) owners.add(Buffer.from(key.subarray(key.lastIndexOf(0) + 1)).toString());
  for (const uploadId of doomedUploads.keys()) owners.add(uploadId);
  return owners;
}

/** Removes bytes and parts that belong to nothing, and parts of uploads whose files are gone. */
async function dropUnowned(folder: string, tables: IndexTables, owners: ReadonlySet<string>): Promise<void> {
  const { objects, inline, parts } = tables;
  await eachPage(tables, inline, (key) => {
    const record = objects.get(key);
    return record && record !== brokenRecord && record.inline ? undefined : () => inline.remove(key);
  });
  await eachPage(tables, parts, async (key, { blob }) => {
    const isOwned = owners.has(key.slice(0, key.indexOf('/')));
    return isOwned && (await hasFile(folder, blob)) ? undefined : () => parts.remove(key);
  });
}

async function listBlobs(tables: IndexTables): Promise<void> {
  const { objects, parts, blobs } = tables;
  await eachPage(tables, objects, (_, { blob }) => (blob === undefined ? undefined : () => blobs.put(blob, true)));
  await eachPage(
    tables,
    parts,
    (_, { blob }) =>
      () =>
        blobs.put(blob, true),
  );
}

/** What follows the last entry that is in use counts as unknown. */
async function listPacks({ objects, packs, commit }: IndexTables): Promise<void> {
  const found = new Map<string, PackRecord>();
  for (const { key, value } of objects.entries()) {
    if (value === brokenRecord || !value.packed) continue;
    const { pack, at } = value.packed;
    const length = entryBytes(key, value.size);
    const { liveBytes, knownBytes } = found.get(pack) ?? { liveBytes: 0, knownBytes: 0 };
    found.set(pack, { liveBytes: liveBytes + length, knownBytes: Math.max(knownBytes, at + length) });
  }
  await commit(() => {
    for (const [pack, record] of found) packs.put(pack, record);
  });
}

/** Judges all entries, and makes the resulting changes, many in one transaction. */
async function eachPage<K extends string | Uint8Array, V>(
  { commit }: IndexTables,
  table: Table<K, V>,
  judge: (key: K, value: V) => Promise<(() => void) | undefined> | (() => void) | undefined,
): Promise<void> {
  let after: K | undefined;
  for (;;) {
    const range = after === undefined ? {} : { start: after, exclusiveStart: true };
    const page = [...table.entries({ ...range, limit: entriesOfATurn })];
    const changes: (() => void)[] = [];
    for (const { key, value } of page) {
      const change = value === brokenRecord ? undefined : await judge(key, value);
      if (change) changes.push(change);
    }
    await commit(() => {
      for (const change of changes) change();
    });
    after = page.at(-1)?.key;
    if (page.length < entriesOfATurn) return;
  }
}

async function hasFile(folder: string, blob: string): Promise<boolean> {
  const places = [join(folder, 'blobs', blob.slice(0, 8), blob), join(folder, 'set-aside', blob)];
  for (const place of places) if ((await isThere(place)) && (await stat(place)).isFile()) return true;
  return false;
}

/** Whether there is such a pack, and it is long enough. */
async function hasEntry(folder: string, pack: string, end: number): Promise<boolean> {
  for (const place of [join(folder, 'packs', pack), join(folder, 'set-aside', pack)]) {
    if ((await isThere(place)) && (await stat(place)).size >= end) return true;
  }
  return false;
}

/**
 * Puts the new index in place. If that is interrupted, the index there does not match the journal, and no store
 * starts.
 */
async function swap(folder: string): Promise<string> {
  const before = join(folder, `before-rebuild-${Date.now()}`);
  await mkdir(before, { mode: 0o700 });
  if (await isThere(join(folder, 'index'))) await rename(join(folder, 'index'), join(before, 'index'));
  await rename(join(folder, 'index.new'), join(folder, 'index'));
  await syncFolder(folder);
  await rename(journalPath(folder), join(before, 'journal'));
  await syncFolder(before);
  await syncFolder(folder);
  return before;
}

/** Sets aside what the new index does not know, and starts its journal. */
async function settle(folder: string): Promise<{ objects: number; setAside: number }> {
  const tables = await openIndexTables(join(folder, 'index'));
  try {
    let setAside = 0;
    const blobs = await openBlobs({
      folder,
      openGeneration: 0,
      isKnown: (blob) => tables.blobs.has(blob) || tables.doomed.has(blob),
      onSetAside: (count) => {
        setAside = count;
      },
      onGenerationsSettled: () => undefined,
    });
    await blobs.close();
    const packs = await openPacks({
      folder,
      known: new Map([...tables.packs.entries()].map(({ key, value }) => [key, value])),
      begin: async () => undefined,
      onClosed: () => undefined,
      log: () => undefined,
    });
    await packs.close();
    // If it cannot be written now, the next start writes it.
    const journal = await openJournal({ folder, tables, log: () => undefined });
    await journal.settled();
    await journal.close();
    return { objects: tables.objects.count(), setAside: setAside + packs.setAside };
  } finally {
    await tables.close();
  }
}
