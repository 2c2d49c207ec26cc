import { join } from 'node:path';
import { openFile } from '@cadiz/client/node';
import { exitCodes, Failure } from '../failure.ts';
import { changedOf, hashFile } from './compare.ts';
import type { Item, Origin } from './import-items.ts';
import { type ManifestFile, readManifest } from './manifest.ts';

/** What `cadiz export` has written. */
export async function readExport(cwd: string, given: string): Promise<Origin> {
  const { files, folders, filesAt } = await readManifest(cwd, given);
  return {
    items: files.map((file) => toItem(file, join(filesAt, file.at))),
    folders: folders.map(({ path }) => path),
    leftOut: [],
  };
}

function toItem({ path, size, sha256, type, metadata, externalId }: ManifestFile, from: string): Item {
  const changed = changedOf({ metadata, sha256, etag: '' });
  return {
    path,
    size,
    sha256,
    ...(changed !== undefined && { changed }),
    async open() {
      const file = await openFile(from, { type });
      if (file.size !== size || (await hashFile(from, 'sha256', size)) !== sha256)
        throw new Failure(exitCodes.failed, `${from} is not as the manifest says: its size or SHA-256 is another.`);
      return { file, type, metadata, checksum: sha256, ...(externalId !== null && { externalId }) };
    },
  };
}
