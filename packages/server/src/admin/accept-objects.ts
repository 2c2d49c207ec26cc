import { createHash } from 'node:crypto';
import { joinEtags } from '@cadiz/store';
import type { Database } from '../db/open.ts';
import { comparePage } from '../features/janitor/compare-page.ts';
import type { Config } from '../settings/config.ts';
import { openBeside } from '../start/open-beside.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { forEachObject, ObjectFailure, receive, startHashes, type Telling, untilWhole } from './objects.ts';
import { withObjects } from './open-objects.ts';
import { findPartSizes } from './part-sizes.ts';

export interface AcceptOptions {
  /** Changes nothing. */
  dryRun: boolean;
  /** Also accepts objects of the right size whose bytes cannot be checked. */
  unproved: boolean;
}

export interface Acceptance {
  /** How many files have the object that was recorded. */
  unchanged: number;
  /** How many had an object with the same bytes and another ETag, which is now that of the file. */
  accepted: number;
  /** How many have no object, or one that was not accepted. */
  failed: number;
}

/** A file whose object has another size or ETag than when it was recorded. */
interface ChangedFile {
  id: string;
  storeKey: string;
  sizeBytes: number;
  /** as recorded */
  etag: string;
  /** of the object */
  found: { sizeBytes: number; etag: string };
}

/**
 * Gives every file the ETag of its object, where that is another because the bucket was copied with another tool, and the bytes are
 * those that were recorded: they have the SHA-256 of the file, or make its ETag, whole or in parts of a usual size. Objects with
 * the right ETag are not read.
 * @throws Error in a sentence
 */
export async function acceptObjects(config: Config, options: AcceptOptions, telling: Telling): Promise<Acceptance> {
  const db = await openBeside(config, 'Stop it to run this command.');
  try {
    return await withObjects(config, async (objects) => {
      await objects.check();
      const { fileCount, missing, changed } = await compareAll({ config, db, objects, now: Date.now });
      for (const { store_key } of missing) telling.warn(`${store_key}: its object is not in the object store.`);
      let refused = 0;
      const outcomes = forEachObject(
        async function* () {
          yield* changed;
        },
        'Reading objects',
        telling,
        (file, onBytes) => accept(db, objects, file, options, onBytes),
        () => {
          refused += 1;
        },
      );
      for await (const _ of outcomes);
      return {
        unchanged: fileCount - missing.length - changed.length,
        accepted: changed.length - refused,
        failed: missing.length + refused,
      };
    });
  } finally {
    await db.close();
  }
}

async function compareAll(deps: Parameters<typeof comparePage>[0]) {
  const all = { fileCount: 0, missing: [] as { store_key: string }[], changed: [] as ChangedFile[] };
  const projects = await deps.db.kysely.selectFrom('projects').select('id').orderBy('id').execute();
  for (const { id: projectId } of projects) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await comparePage(deps, projectId, after);
      all.fileCount += page.fileCount;
      all.missing.push(...page.missing);
      for (const { file, sizeBytes, etag } of page.changed) {
        const { id, store_key: storeKey, file_size, etag: recorded } = file;
        all.changed.push({ id, storeKey, sizeBytes: file_size, etag: recorded, found: { sizeBytes, etag } });
      }
      after = page.next;
    }
  }
  return all;
}

/** @throws ObjectFailure if the object does not have the recorded bytes, or they cannot be checked */
async function accept(
  db: Database,
  objects: ObjectStore,
  file: ChangedFile,
  { dryRun, unproved }: AcceptOptions,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { id, sizeBytes, etag, found } = file;
  if (found.sizeBytes !== sizeBytes) {
    throw new ObjectFailure(`its object has ${found.sizeBytes} bytes instead of ${sizeBytes}.`);
  }
  const row = await db.kysely
    .selectFrom('files')
    .select(['sha256', 'sha256_state'])
    .where('id', '=', id)
    .where('etag', '=', etag)
    .executeTakeFirst();
  if (row === undefined) throw new ObjectFailure('it was changed meanwhile: run the command again.');
  const sha256 = row.sha256_state === 'mismatch' ? undefined : row.sha256?.toString('hex');
  const proof = await untilWhole(() => prove(objects, file, sha256, onBytes));
  if (proof === 'refuted') throw new ObjectFailure('its object has another SHA-256 than was recorded.');
  if (proof === undefined && !unproved) {
    throw new ObjectFailure(
      'its object has the right size, but nothing tells whether it has the bytes that were recorded; --unproved accepts it.',
    );
  }
  if (dryRun) return;
  const change = db.kysely.updateTable('files').set({ etag: found.etag });
  await change.where('id', '=', id).where('etag', '=', etag).execute();
}

/**
 * Reads an object and compares it with what was recorded; undefined if its bytes cannot be checked.
 * @param sha256 in hex, if one was recorded and not refuted
 */
async function prove(
  objects: ObjectStore,
  { storeKey, sizeBytes, etag, found }: ChangedFile,
  sha256: string | undefined,
  onBytes: (bytes: number) => void,
): Promise<'proved' | 'refuted' | undefined> {
  const object = await objects.read(storeKey);
  if (object?.etag !== found.etag) {
    object?.body.destroy();
    throw new ObjectFailure('its object was changed meanwhile: run the command again.');
  }
  const whole = startHashes();
  const inParts = findPartSizes(sizeBytes, etag).map(startPartHashes);
  for await (const bytes of receive(storeKey, object.body, onBytes)) {
    whole.update(bytes);
    for (const parts of inParts) parts.update(bytes);
  }
  const hashed = whole.end();
  if (sha256 !== undefined) return hashed.sha256 === sha256 ? 'proved' : 'refuted';
  return [hashed.md5, ...inParts.map((parts) => parts.end())].includes(etag) ? 'proved' : undefined;
}

/** Computes the ETag of an object in parts of this size from its bytes as they arrive. */
function startPartHashes(partBytes: number) {
  const parts: { etag: string }[] = [];
  let part = createHash('md5');
  let filled = 0;
  const close = () => {
    parts.push({ etag: part.digest('hex') });
    part = createHash('md5');
    filled = 0;
  };
  return {
    update(bytes: Buffer) {
      for (let rest = bytes; rest.length > 0; ) {
        const taken = rest.subarray(0, partBytes - filled);
        part.update(taken);
        filled += taken.length;
        rest = rest.subarray(taken.length);
        if (filled === partBytes) close();
      }
    },
    end(): string {
      if (filled > 0) close();
      return joinEtags(parts);
    },
  };
}
