import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CadizError } from './error.ts';
import type { Resumable, ResumeStore, StreamChunk } from './platform/platform.ts';
import { changed } from './upload/job.ts';
import type { Source } from './upload/source.ts';

export * from './index.ts';

/** The media types of names that are common; anything else is `application/octet-stream` unless `type` says it. */
const types: Record<string, string> = {
  '.avif': 'image/avif',
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.heic': 'image/heic',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.m4a': 'audio/mp4',
  '.md': 'text/markdown',
  '.mov': 'video/quicktime',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.zip': 'application/zip',
};

/** A file on disk, to be uploaded without being read into memory. */
export interface LocalFile extends Source {
  readonly path: string;
  readonly name: string;
  readonly lastModified: number;
}

/**
 * Opens a file on disk for `upload`.
 *
 * @example
 * await cadiz.upload(await openFile('videos/launch.mp4'), { folder: 'press/2027' });
 * @throws CadizError file_unreadable
 */
export async function openFile(path: string, { type }: { type?: string | undefined } = {}): Promise<LocalFile> {
  const facts = await factsOf(path);
  if (!facts.isFile()) throw new CadizError('file_unreadable', `${path} is not a file.`);
  const { size, mtimeMs: lastModified } = facts;
  if (size === 0 && (await hasBytes(path))) throw sizeless(path);
  const slice = (start = 0, end = size): StreamChunk => ({
    size: end - start,
    read: () => readRange(path, { size, lastModified }, start, end),
  });
  return {
    path,
    name: basename(path),
    size,
    lastModified,
    type: type ?? types[extname(path).toLowerCase()] ?? 'application/octet-stream',
    slice,
  };
}

/** The bytes from start up to, not including, end; fails if the file is not the one that was opened any more. */
async function* readRange(
  path: string,
  opened: { size: number; lastModified: number },
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  const failure = () =>
    new CadizError('file_unreadable', `${path} has changed since its upload began.`, { cause: changed });
  const requireSame = async () => {
    const facts = await factsOf(path);
    if (facts.size !== opened.size || facts.mtimeMs !== opened.lastModified) throw failure();
  };
  await requireSame();
  if (start === end) return;
  let read = 0;
  let last: Uint8Array | undefined;
  try {
    for await (const bytes of createReadStream(path, { start, end: end - 1, highWaterMark: 256 * 1024 })) {
      if (last) yield last;
      read += bytes.length;
      last = bytes;
    }
  } catch (cause) {
    cannotRead(path)(cause);
  }
  // It may have been written to in the meantime: without the last bytes, the store takes none of them.
  await requireSame();
  if (!last || read < end - start) throw sizeless(path);
  yield last;
}

async function hasBytes(path: string): Promise<boolean> {
  const file = await open(path).catch(cannotRead(path));
  try {
    return (await file.read(Buffer.alloc(1))).bytesRead > 0;
  } catch (cause) {
    return cannotRead(path)(cause);
  } finally {
    await file.close();
  }
}

/** Such files are made as they are read: those of /proc say that they are empty, those of /sys that they are a page. */
const sizeless = (path: string) =>
  new CadizError('file_unreadable', `${path} has other bytes than its size says, as in /proc: upload a copy of it.`, {
    cause: changed,
  });

const factsOf = (path: string) => stat(path).catch(cannotRead(path));

const cannotRead =
  (path: string) =>
  (cause: unknown): never => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CadizError('file_unreadable', `${path} cannot be read: ${reason}`, { cause });
  };

/** How old a lock may become, in milliseconds: whoever made it is gone then. */
const staleMilliseconds = 10_000;

/**
 * Remembers uploads in parts in a file, so that the next run of a program goes on with them. It holds tickets, if
 * there are any, and is readable by its owner only. Several programs may share it. If it is damaged, it counts as empty.
 *
 * @example
 * const cadiz = createClient({ baseUrl, projectId, apiKey, resume: resumeFile('.cadiz-uploads.json') });
 */
export function resumeFile(path: string): ResumeStore {
  const lock = `${path}.lock`;
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<Record<string, Resumable>> {
    try {
      return { ...JSON.parse(await readFile(path, 'utf8')) };
    } catch (error) {
      if (error instanceof SyntaxError || isCode(error, 'ENOENT')) return {};
      throw error;
    }
  }

  /** Runs while no other program changes the file. */
  async function alone(run: () => Promise<void>): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    for (const since = Date.now(); ; ) {
      try {
        await mkdir(lock);
        break;
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
        const made = await stat(lock).catch(() => undefined);
        if (Date.now() - since > 3 * staleMilliseconds) throw error;
        if (made && Date.now() - made.mtimeMs > staleMilliseconds) await rmdir(lock).catch(() => undefined);
        await delay(5 + Math.random() * 20);
      }
    }
    try {
      await run();
    } finally {
      await rmdir(lock).catch(() => undefined);
    }
  }

  /** One change after another, each in a new file that takes the place of the old one: a crash leaves one of the two. */
  function change(edit: (uploads: Record<string, Resumable>) => void): Promise<void> {
    const edited = async () => {
      const uploads = await read();
      edit(uploads);
      const draft = `${path}.${randomUUID()}`;
      try {
        await writeFile(draft, JSON.stringify(uploads), { mode: 0o600 });
        await rename(draft, path);
      } finally {
        await rm(draft, { force: true });
      }
    };
    const changed = last.then(() => alone(edited));
    last = changed.catch(() => undefined);
    return changed;
  }

  return {
    get: async (key) => (await read())[key],
    set: (key, upload) =>
      change((uploads) => {
        uploads[key] = upload;
      }),
    delete: (key) =>
      change((uploads) => {
        delete uploads[key];
      }),
  };
}

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;
