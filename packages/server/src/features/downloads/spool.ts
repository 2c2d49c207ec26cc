import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes that are set aside and read back once: small amounts in memory, larger ones in a temporary file. */
export interface Spool {
  readonly sizeBytes: number;
  add(bytes: Buffer): Promise<void>;
  read(): AsyncGenerator<Buffer, void>;
  close(): Promise<void>;
}

const pieceBytes = 64 * 1024;

/** @param memoryBytes how much may be kept in memory */
export function createSpool(memoryBytes: number): Spool {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let writtenBytes = 0;
  let file: FileHandle | undefined;

  async function flush(): Promise<void> {
    file ??= await openNameless();
    const bytes = Buffer.concat(kept);
    await file.writeFile(bytes);
    writtenBytes += bytes.length;
    kept = [];
    keptBytes = 0;
  }

  return {
    get sizeBytes() {
      return writtenBytes + keptBytes;
    },
    async add(bytes) {
      kept.push(bytes);
      keptBytes += bytes.length;
      if (keptBytes >= memoryBytes) await flush();
    },
    async *read() {
      for (let at = 0; file && at < writtenBytes; ) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, at);
        if (bytesRead === 0) throw new Error('The temporary file is truncated.');
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
      if (keptBytes > 0) yield Buffer.concat(kept);
    },
    async close() {
      await file?.close();
    },
  };
}

/** A file that nobody else can open, and that disappears with the process. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `cadiz-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}
