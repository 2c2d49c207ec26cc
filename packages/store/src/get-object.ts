import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Call } from './call.ts';
import { requireObject } from './head-object.ts';
import type { ObjectRecord } from './index-db.ts';
import { toObjectAnswer } from './object-answer.ts';
import { S3Error, systemCode } from './s3-error.ts';

const CHUNK_BYTES = 256 * 1024;
const ATTEMPTS = 5;

/** GET /bucket/key: the bytes, or one range of them. */
export async function getObject(call: Call): Promise<void> {
  const { file, record } = await openObject(call);
  try {
    const { size } = await file.stat();
    if (size !== record.size) {
      call.store.log({
        level: 'error',
        message: 'A blob has lost its size.',
        blob: record.blob,
        size,
        expected: record.size,
      });
      throw new S3Error('InternalError', 'The stored object is damaged.');
    }
    const answer = toObjectAnswer(call, record);
    call.response.writeHead(answer.status, answer.headers);
    if (answer.last < answer.first) {
      call.response.end();
      return;
    }
    const bytes = file.createReadStream({
      start: answer.first,
      end: answer.last,
      highWaterMark: CHUNK_BYTES,
      autoClose: false,
    });
    await pipeline(bytes, call.response);
  } finally {
    await file.close();
  }
}

/** Between the index and the file the object may be replaced, and its old file go; then the index is asked again. */
async function openObject(call: Call): Promise<{ file: FileHandle; record: ObjectRecord }> {
  for (let attempt = 1; ; attempt += 1) {
    const record = requireObject(call);
    try {
      return { file: await call.store.blobs.open(record.blob), record };
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      if (attempt < ATTEMPTS) continue;
      call.store.log({ level: 'error', message: 'The file of an object is missing.', blob: record.blob });
      throw new S3Error('InternalError', 'The stored object is damaged.');
    }
  }
}
