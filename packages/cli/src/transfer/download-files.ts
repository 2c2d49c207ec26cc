import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Client, type File, isCadizError } from '@cadiz/client';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { Damaged, openBytes, startHash } from './bytes.ts';
import { timeOf } from './compare.ts';
import { toDraftName } from './local-tree.ts';
import { nameDraft } from './name-draft.ts';
import { goneCode, type Report } from './report.ts';
import { runTransfers } from './run-transfers.ts';

/** A file of the project, and where it goes. */
export interface Download {
  file: File;
  /** As it is shown. */
  path: string;
  to: string;
  /** Whether nothing was there when it was planned: then nothing is overwritten. */
  isNew: boolean;
}

/** Where it is written until it is complete. */
export const draftOf = ({ file, to }: Pick<Download, 'file' | 'to'>): string => join(dirname(to), toDraftName(file.id));

/**
 * Removes a draft that is another name of a file: its download was killed after it had given the file its name. To continue it
 * would write into that file.
 */
export async function removeLinked(draft: string): Promise<void> {
  const facts = await lstat(draft).catch(() => undefined);
  if (facts?.isFile() && facts.nlink > 1) await rm(draft, { force: true });
}

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** Downloads files, verifies them, and shows how far it is. */
export async function downloadFiles(
  context: Context,
  client: Client,
  downloads: readonly Download[],
  report: Report,
  concurrency: number,
): Promise<void> {
  const sign = signTogether(
    client,
    downloads.map(({ file }) => file.id),
  );
  const transfers = downloads.map((download, index) => ({
    path: download.path,
    id: download.file.id,
    bytes: download.file.fileSize,
    run: (onProgress: (bytes: number) => void) =>
      downloadFile(client, download, { sign: (isAgain) => sign(index, isAgain), onProgress }),
  }));
  await runTransfers(context, 'Downloading', transfers, report, concurrency);
}

interface How {
  /** @param isAgain whether the last URL was refused */
  sign: (isAgain: boolean) => Promise<string>;
  onProgress: (bytes: number) => void;
}

const attempts = 5;

/** Reads the bytes of a file again if their connection breaks, or if they were damaged on the way. */
export async function untilWhole<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (attempt === attempts || !mayPass(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400 * 2 ** attempt));
    }
  }
}

/**
 * Downloads to a draft beside the target, and gives it its name once it is complete and verified. A draft that an earlier
 * attempt has left is continued. Another command may be writing the same draft: both put the same bytes in the same places.
 */
async function downloadFile(client: Client, download: Download, how: How): Promise<void> {
  const { file, to } = download;
  const draft = draftOf(download);
  await mkdir(dirname(to), { recursive: true });
  const taken = await stat(to).catch(() => undefined);
  if (taken?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR', path: to });
  await removeLinked(draft);
  const written = await untilWhole(() =>
    continueDraft(client, file, draft, how).catch(async (error) => {
      if (error instanceof Damaged || isGone(error)) await rm(draft, { force: true });
      throw error;
    }),
  );
  await nameDraft({ ...download, draft, written });
}

/** The file is deleted: nothing will continue its draft. */
const isGone = (error: unknown): boolean => isCadizError(error) && error.code === goneCode;

/** A broken connection, and bytes that were damaged on the way; not what the disk or the service refuses. */
const mayPass = (error: unknown): boolean =>
  error instanceof Damaged ||
  !(error instanceof Failure || isCadizError(error) || /^E[A-Z]+$/.test((error as NodeJS.ErrnoException).code ?? ''));

/** @returns what it is now */
async function continueDraft(client: Client, file: File, path: string, { sign, onProgress }: How): Promise<Stats> {
  // A link in its place would lead what is written elsewhere.
  const draft = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o666);
  try {
    const hash = startHash(file);
    let { size: at } = await draft.stat();
    if (at > file.fileSize) {
      await draft.truncate(0);
      at = 0;
    }
    if (at > 0)
      for await (const bytes of draft.createReadStream({ start: 0, end: at - 1, autoClose: false }))
        hash?.update(bytes);
    onProgress(at);
    let isAgain = false;
    const next = () => {
      const url = sign(isAgain);
      isAgain = true;
      return url;
    };
    for await (const bytes of openBytes(client, file, { start: at, hash, sign: next })) {
      await writeAt(draft, bytes, at);
      at += bytes.length;
      onProgress(at);
    }
    const time = new Date(timeOf(file));
    await draft.utimes(time, time);
    return await draft.stat();
  } finally {
    await draft.close();
  }
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

const signedAtOnce = 100;
/** Shorter than the hour for which they are valid. */
const usableMilliseconds = 45 * 60_000;

/** URLs of many files, with one request for a hundred of them, shortly before they are needed. */
export function signTogether(
  client: Client,
  ids: readonly string[],
): (index: number, isAgain: boolean) => Promise<string> {
  const groups = new Map<number, { at: number; urls: Promise<Map<string, string>> }>();
  const ask = async (start: number) => {
    const answered = await client.files.urls(ids.slice(start, start + signedAtOnce)).catch((error: unknown) => {
      // Those that have not had their turn yet ask anew.
      groups.delete(start);
      throw error;
    });
    return new Map(answered.flatMap((one) => ('url' in one ? [[one.fileId, one.url] as const] : [])));
  };
  return async (index, isAgain) => {
    const id = ids[index] ?? '';
    const start = index - (index % signedAtOnce);
    const group = groups.get(start) ?? { at: Date.now(), urls: ask(start) };
    groups.set(start, group);
    const url = isAgain || Date.now() - group.at > usableMilliseconds ? undefined : (await group.urls).get(id);
    return url ?? (await client.files.url(id)).url;
  };
}
