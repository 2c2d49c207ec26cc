import { createHash } from 'node:crypto';
import { CadizError, type Metadata, type Source } from '@cadiz/client';
import { RecordRequest } from '@cadiz/contract';
import { Failure } from '../failure.ts';
import { nameOf } from '../paths.ts';
import { proofOf } from './bytes.ts';
import { changedBytesFact, changedFact, toChangedFacts } from './compare.ts';
import { untilWhole } from './download-files.ts';
import type { Item } from './import-items.ts';

/** A file of another store, whose bytes pass through this machine without being stored here. */
export interface Foreign {
  path: string;
  /** In bytes. */
  size: number;
  /** The digests of its bytes that are known, in hex. */
  md5?: string | undefined;
  sha256?: string | undefined;
  /** When it was changed, in milliseconds; undefined if nobody knows. */
  changed: number | undefined;
  /** A fact in the metadata that no other file of that store has. */
  fact?: [name: string, value: string];
  /** Looks up more about it; called once, before it is read. */
  look(): Promise<ForeignFacts>;
  /** The bytes from start up to, not including, end. */
  read(start: number, end: number): AsyncGenerator<Uint8Array>;
}

export interface ForeignFacts {
  /** Each of these may have any form: what a project cannot keep is left out. */
  type: string;
  metadata: Readonly<Record<string, unknown>>;
  externalId?: string | null;
  /** Whether `md5` turns out not to be the MD5 of the bytes. */
  hasOtherMd5?: boolean;
}

/** The file as an item of an import: its bytes are compared with the digests that are known as they pass. */
export function toForeignItem(foreign: Foreign): Item {
  const { path, size, sha256, changed, fact } = foreign;
  let { md5 } = foreign;
  /** The MD5 of the bytes, once all of them have been read. */
  let read: string | undefined;
  async function* verified(): AsyncGenerator<Uint8Array> {
    const hashes = { md5: createHash('md5'), sha256: sha256 === undefined ? undefined : createHash('sha256') };
    for await (const bytes of readExactly(foreign, 0, size)) {
      hashes.md5.update(bytes);
      hashes.sha256?.update(bytes);
      yield bytes;
    }
    read = hashes.md5.digest('hex');
    if (hashes.sha256 && hashes.sha256.digest('hex') !== sha256) throw notWhole(path, 'SHA-256');
    if (md5 && read !== md5) throw notWhole(path, 'MD5');
  }
  /** A file that is sent in parts gets an ETag that is not its MD5. */
  const changedFacts = (): Metadata =>
    changed === undefined ? {} : toChangedFacts(changed, sha256 ?? (size < inPartsFrom ? md5 : undefined));
  return {
    path,
    size,
    ...(changed !== undefined && { changed }),
    ...(md5 && { md5 }),
    ...(sha256 && { sha256 }),
    ...(fact && { fact }),
    async open() {
      const { metadata, hasOtherMd5, ...given } = await foreign.look();
      const type = mimeType.safeParse(given.type).data ?? '';
      const externalId = externalIdForm.safeParse(given.externalId).data;
      if (hasOtherMd5) md5 = undefined;
      // Parts are read in any order, so their SHA-256 is compared before that.
      if (sha256 !== undefined && size >= inPartsFrom) await untilWhole(() => drain(verified()));
      const file: Source = {
        name: nameOf(path),
        size,
        type,
        ...(changed !== undefined && { lastModified: changed }),
        slice: (start = 0, end = size) => ({
          size: end - start,
          read: () => (start === 0 && end === size ? verified() : readExactly(foreign, start, end)),
        }),
      };
      return {
        file,
        ...(type && { type }),
        metadata: toMetadata(metadata, { ...(fact && { [fact[0]]: fact[1] }), ...changedFacts() }),
        // Without a known SHA-256, none is declared: computing it would read the file twice.
        checksum: sha256 ?? false,
        ...(externalId && { externalId }),
      };
    },
    findFault(file) {
      const proof = proofOf(file);
      const known = md5 ?? read;
      const differs = known && proof?.algorithm === 'md5' && proof.hex !== known;
      return differs ? `what was stored has the MD5 ${proof.hex}, and the object has ${known}.` : undefined;
    },
  };
}

function notWhole(path: string, digest: 'MD5' | 'SHA-256'): CadizError {
  return new CadizError('file_unreadable', `${path} has not arrived whole: its ${digest} is another.`);
}

/** Files from this size in bytes on are sent in parts by the SDK. */
const inPartsFrom = 64 * 1024 ** 2;

async function drain(bytes: AsyncIterator<unknown>): Promise<void> {
  while (!(await bytes.next()).done);
}

const { mimeType, metadata: metadataForm, externalId: externalIdForm } = RecordRequest.shape;

/** @param known entries that must be in the metadata @returns those, and as many of `own` as a project can keep (docs/api.md) */
function toMetadata(own: Readonly<Record<string, unknown>>, known: Metadata): Metadata {
  let fitting = known;
  for (const [name, value] of Object.entries(own)) {
    // It is about the bytes of an earlier version.
    if (name === changedBytesFact && Object.hasOwn(known, changedFact)) continue;
    const more = metadataForm.safeParse({ ...fitting, [name]: value });
    if (more.data && !Object.hasOwn(known, name)) fitting = { ...more.data };
  }
  return fitting;
}

/**
 * As many bytes as the file has, or as were asked for.
 *
 * @throws CadizError file_unreadable if there are more or fewer, and in place of a Failure, which the SDK would take for a
 *   broken connection and try again
 */
async function* readExactly({ read }: Foreign, start: number, end: number): AsyncGenerator<Uint8Array> {
  let count = 0;
  try {
    for await (const bytes of read(start, end)) {
      count += bytes.length;
      if (count > end - start) break;
      yield bytes;
    }
  } catch (error) {
    throw error instanceof Failure ? new CadizError('file_unreadable', error.message, { cause: error }) : error;
  }
  if (count === end - start) return;
  const amount = count > end - start ? 'more bytes' : `${count} bytes`;
  throw new CadizError('file_unreadable', `${amount} have come instead of ${end - start}.`);
}

/** Why a file cannot have this path: names of a project are less free than keys (docs/api.md). */
export function whyImpossible(path: string): string | undefined {
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') return 'a part of its key between slashes is empty, . or ..';
    if (/[\p{Cc}\\]/u.test(name)) return 'its key has a backslash or a control character.';
    if (Buffer.byteLength(name) > 255) return 'a part of its key between slashes is longer than 255 bytes.';
  }
  return undefined;
}
