import { createHash } from 'node:crypto';
import type { File } from '@cadiz/client';
import { exitCodes, Failure } from '../failure.ts';
import { openBytes, proofOf } from './bytes.ts';
import { signTogether, untilWhole } from './download-files.ts';
import type { ExportHow, ExportTarget, Placed } from './export-target.ts';
import { filesFolder, manifestName, toLines } from './manifest.ts';
import { runTransfers, type Transfer } from './run-transfers.ts';
import { type ListedObject, openBucket, readAddress } from './s3-bucket.ts';

/** Names the file of the project whose bytes an object has: the bytes of one id never change. */
const idFact = 'cadiz-id';

/**
 * An export into a bucket. Each file is compared with its checksum as it passes through this machine, and the bucket compares
 * what it gets with the SHA-256 of the request.
 *
 * @param given `s3://BUCKET/PREFIX`
 * @throws Failure
 */
export function toBucket(given: string, { context, client, concurrency }: ExportHow, endpoint?: string): ExportTarget {
  const { name, prefix } = readAddress(given);
  const bucket = openBucket(name, context.env, endpoint);
  const base = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
  const keyOf = (at: string) => `${base}${filesFolder}/${at}`;
  /** Of files without a recorded SHA-256, those that were computed on the way. */
  const hashes = new Map<string, string>();

  return {
    async transfer(files, _folders, report) {
      const there = new Map<string, number>();
      for await (const { key, size } of bucket.list(`${base}${filesFolder}/`)) there.set(key, size);
      const missing: Placed[] = [];
      const queue = files.values();
      const look = async () => {
        for (const placed of queue) {
          const { at, file } = placed;
          const isSame = there.get(keyOf(at)) === file.fileSize && (await isThere(at, file));
          if (isSame) report.unchanged++;
          else missing.push(placed);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, look));
      const sign = signTogether(
        client,
        missing.map(({ file }) => file.id),
      );
      const transfers = missing.map(({ at, file }, index): Transfer => {
        let isAgain = false;
        const next = () => {
          const url = sign(index, isAgain);
          isAgain = true;
          return url;
        };
        const run: Transfer['run'] = (onProgress) => untilWhole(() => copy(at, file, next, onProgress));
        return { path: at, id: file.id, bytes: file.fileSize, run };
      });
      await runTransfers(context, 'Exporting', transfers, report, concurrency);
    },
    async hash({ at, file }) {
      const known = hashes.get(file.id);
      if (known !== undefined) return known;
      const { etag } = await bucket.head(keyOf(at));
      const hash = createHash('sha256');
      const object: Pick<ListedObject, 'key' | 'etag'> = { key: keyOf(at), etag };
      for await (const bytes of bucket.read(object, 0, file.fileSize)) hash.update(bytes);
      return hash.digest('hex');
    },
    async writeManifest(manifest) {
      const lines = toLines(manifest).map((line) => Buffer.from(line));
      const size = lines.reduce((sum, { length }) => sum + length, 0);
      const key = `${base}${manifestName}`;
      await bucket.write(key, size, toAsync(lines), { 'content-type': 'application/x-ndjson' });
      return `s3://${name}/${key}`;
    },
  };

  async function isThere(at: string, file: File): Promise<boolean> {
    try {
      return (await bucket.head(keyOf(at))).metadata[idFact] === file.id;
    } catch (error) {
      // It has been deleted since it was listed.
      if (error instanceof Failure && error.exitCode === exitCodes.notFound) return false;
      throw error;
    }
  }

  async function copy(at: string, file: File, sign: () => Promise<string>, onProgress: (bytes: number) => void) {
    if (Buffer.byteLength(keyOf(at)) > 1024)
      throw new Failure(exitCodes.failed, 'its key in the bucket would be longer than 1024 bytes.');
    const hash = proofOf(file)?.algorithm === 'sha256' ? undefined : createHash('sha256');
    let done = 0;
    async function* bytes() {
      for await (const piece of openBytes(client, file, { start: 0, sign })) {
        hash?.update(piece);
        yield piece;
        done += piece.length;
        onProgress(done);
      }
    }
    await bucket.write(keyOf(at), file.fileSize, bytes(), {
      'content-type': file.mimeType,
      [`x-amz-meta-${idFact}`]: file.id,
    });
    if (hash) hashes.set(file.id, hash.digest('hex'));
  }
}

async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
