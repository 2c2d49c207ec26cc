import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { CadizError } from './error.ts';
import type { Resumable, ResumeStore, StreamChunk } from './platform/platform.ts';
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
export async function openFile(path: string, { type }: { type?: string } = {}): Promise<LocalFile> {
  const facts = await stat(path).catch((cause: Error) => {
    throw new CadizError('file_unreadable', `${path} cannot be read: ${cause.message}`, { cause });
  });
  if (!facts.isFile()) throw new CadizError('file_unreadable', `${path} is not a file.`);
  const { size, mtimeMs: lastModified } = facts;
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
  const changed = () => new CadizError('file_unreadable', `${path} has changed since its upload began.`);
  const facts = await stat(path).catch((cause: Error) => {
    throw new CadizError('file_unreadable', `${path} cannot be read: ${cause.message}`, { cause });
  });
  if (facts.size !== opened.size || facts.mtimeMs !== opened.lastModified) throw changed();
  if (start === end) return;
  let read = 0;
  try {
    for await (const bytes of createReadStream(path, { start, end: end - 1, highWaterMark: 256 * 1024 })) {
      read += bytes.length;
      yield bytes;
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CadizError('file_unreadable', `${path} cannot be read: ${reason}`, { cause });
  }
  if (read < end - start) throw changed();
}

/**
 * Remembers uploads in parts in a file, so that the next run of a program goes on with them. It holds tickets, if
 * there are any, and is readable by its owner only.
 *
 * @example
 * const cadiz = createClient({ baseUrl, projectId, apiKey, resume: resumeFile('.cadiz-uploads.json') });
 */
export function resumeFile(path: string): ResumeStore {
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<Record<string, Resumable>> {
    try {
      return JSON.parse(await readFile(path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new CadizError('file_unreadable', `${path} cannot be read; remove it, and uploads begin anew.`, {
        cause: error,
      });
    }
  }

  /** One change after another, each in a new file that takes the place of the old one: a crash leaves one of the two. */
  function change(edit: (uploads: Record<string, Resumable>) => void): Promise<void> {
    const changed = last.then(async () => {
      const uploads = await read();
      edit(uploads);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.new`, JSON.stringify(uploads), { mode: 0o600 });
      await rename(`${path}.new`, path);
    });
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
