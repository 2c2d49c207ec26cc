import type { Counts, Folder, Listing, Many, Operation } from '@cadiz/client';
import type { InfiniteData } from '@tanstack/react-query';
import { clientOf, isOfNetwork } from '../../api.ts';
import { toast, toastError, withdrawUndo } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { begin, drop, remember } from '../../undo.ts';
import { type Chosen, type Target, toParent } from './chosen.ts';
import { hide } from './leaving.ts';
import { type Entry, listingKey, toEntries } from './use-listing.ts';

/** What can be done with the entries of a listing, loaded when it is first asked for. Changes read the listings again. */

type Changed = readonly Pick<Entry, 'kind' | 'id'>[];

const toIds = (entries: Changed) => ({
  fileIds: entries.filter(({ kind }) => kind === 'file').map(({ id }) => id),
  folderIds: entries.filter(({ kind }) => kind === 'folder').map(({ id }) => id),
});

/** The most files and folders that the service changes with one request. */
const mostAtOnce = 1000;

/** Changes entries with as many requests as that takes, one after the other. @returns their answers */
export async function changeAll<T>(
  entries: Changed,
  send: (ids: ReturnType<typeof toIds>) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = [];
  for (let from = 0; from < entries.length; from += mostAtOnce)
    answers.push(await send(toIds(entries.slice(from, from + mostAtOnce))));
  return answers;
}

/** Changes what is chosen. @returns how much that was */
async function change({ entries, select }: Chosen, send: (many: Many) => Promise<Counts>): Promise<Counts> {
  const answers = select ? [await send({ select })] : await changeAll(entries, send);
  const sumOf = (what: keyof Counts) => answers.reduce((sum, counts) => sum + counts[what], 0);
  return { files: sumOf('files'), folders: sumOf('folders'), bytes: sumOf('bytes') };
}

/** Reads again what a change may have changed. */
export async function refresh(projectId: string): Promise<void> {
  await Promise.all(
    [listingKey(projectId), ['file'], ['folders', projectId], ['usage', projectId], ['trash', projectId]].map(
      (queryKey) => queryClient.invalidateQueries({ queryKey }),
    ),
  );
}

/** How many entries a change was of. @param counts the answer of the service, which alone knows how many everything in a place was */
const toCount = ({ entries, select }: Chosen, counts?: Counts): number =>
  select && counts ? counts.files + counts.folders : entries.length;

/** What is said of a change that is done, and what takes it back, if anything does. */
interface Done {
  message: string;
  undo?: (() => void) | undefined;
}

/**
 * Takes entries out of what is shown before the service has answered. If it refuses, they come back.
 *
 * @param toDone what is said then; without an answer, if that was lost, and the change was not
 */
async function withoutThem(
  projectId: string,
  chosen: Chosen,
  send: () => Promise<Counts>,
  toDone: (counts?: Counts) => Done,
): Promise<void> {
  const { entries, select } = chosen;
  // Everything in a place may take a while, and reports its own progress.
  const leaving = select ? [] : entries;
  const show = hide(leaving);
  if (select) void toast(text.files.begun, { isGoingOn: true });
  else void withdrawUndo();
  const step = begin();
  const say = ({ message, undo }: Done) => {
    if (!undo) drop(step);
    void toast(message, undo ? { undo: remember(undo, step) } : {});
  };
  try {
    say(toDone(await send()));
    // Perhaps the listings cannot be read again.
    const gone = new Set(leaving.map(({ id }) => id));
    queryClient.setQueriesData<InfiniteData<Listing>>(
      { queryKey: listingKey(projectId) },
      (data) => data && without(data, gone),
    );
  } catch (error) {
    show();
    if (await isDoneAnyway(error, projectId, chosen)) say(toDone());
    else {
      drop(step);
      void toastError(error);
    }
  }
  show();
  await refresh(projectId);
}

/** Whether only the answer was lost: then no listing that is read again has any of these where it was. */
async function isDoneAnyway(error: unknown, projectId: string, { entries, select }: Chosen): Promise<boolean> {
  if (!isOfNetwork(error) || select) return false;
  const queryKey = listingKey(projectId);
  // Also those that are not shown, which may still have what is gone.
  await queryClient.refetchQueries({ queryKey });
  const left = new Map(entries.map((entry) => [entry.id, toParent(entry)]));
  return !queryClient
    .getQueriesData<InfiniteData<Listing>>({ queryKey })
    .flatMap(([, data]) => data?.pages.flatMap(toEntries) ?? [])
    .some((entry) => left.get(entry.id) === toParent(entry));
}

function without({ pages, pageParams }: InfiniteData<Listing>, gone: ReadonlySet<string>): InfiniteData<Listing> {
  const isLeft = ({ id }: { id: string }) => !gone.has(id);
  const left = pages.map((page) => ({
    ...page,
    files: page.files.filter(isLeft),
    folders: page.folders.filter(isLeft),
  }));
  const countOf = (some: Listing[]) => some.reduce((sum, { files, folders }) => sum + files.length + folders.length, 0);
  const fewer = countOf(pages) - countOf(left);
  return { pageParams, pages: left.map((page) => ({ ...page, total: page.total && page.total - fewer })) };
}

/** Shows how far a change in the background has come. */
const onProgress = ({ done, total }: Operation) => void toast(text.files.progress(done, total), { isGoingOn: true });

/** What deleting these would put into the trash, with all that is in them. */
export function countDeleted(projectId: string, chosen: Chosen): Promise<Counts> {
  const { deleteMany } = clientOf(projectId).files;
  return change(chosen, (many) => deleteMany({ ...many, dryRun: true }));
}

/** Puts entries into the trash, and offers to take that back. */
export function deleteChosen(projectId: string, chosen: Chosen): Promise<void> {
  const { deleteMany, restoreMany } = clientOf(projectId).files;
  const send = () => change(chosen, (many) => deleteMany({ ...many, onProgress }));
  // Not for everything in a place: what had been deleted from it earlier would come back as well.
  const undo = () => void takeBack(projectId, () => changeAll(chosen.entries, restoreMany));
  return withoutThem(projectId, chosen, send, (counts) => ({
    message: text.files.deleted(toCount(chosen, counts)),
    undo: chosen.select ? undefined : undo,
  }));
}

async function takeBack(projectId: string, send: () => Promise<unknown>): Promise<void> {
  void toast(text.common.undoing, { isGoingOn: true });
  try {
    await send();
    void toast(text.common.undone);
  } catch (error) {
    void toastError(error);
  }
  await refresh(projectId);
}

/** Moves entries into a folder, or to the root, and offers to take that back. */
export function moveChosen(projectId: string, chosen: Chosen, target: Target): Promise<void> {
  const { move } = clientOf(projectId).files;
  const send = () => change(chosen, (many) => move({ ...many, onProgress, folder: target.id }));
  const origins = new Set(chosen.entries.map(toParent));
  const [origin = null] = origins;
  // Entries that were found in several folders have no one place to go back to.
  const isBack = chosen.select === undefined && origins.size === 1;
  const moveBack = (many: Many) => move({ ...many, folder: origin });
  const undo = () => void takeBack(projectId, () => changeAll(chosen.entries, moveBack));
  return withoutThem(projectId, chosen, send, (counts) => ({
    message: text.files.moved(toCount(chosen, counts), target.name),
    undo: isBack ? undo : undefined,
  }));
}

/** How long the first bytes may take, in milliseconds. */
const frameMilliseconds = 600_000;

/**
 * Saves what is at a URL, by opening it in a frame: in the window, the browser would ask whether to leave it while uploads run, and
 * an error of the store would take the place of the console. An error loads in the frame as a page; a download does not.
 */
function saveFrom(url: string): void {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.src = url;
  frame.addEventListener('load', () => {
    frame.remove();
    void toast(text.files.notDownloaded);
  });
  document.body.append(frame);
  setTimeout(() => frame.remove(), frameMilliseconds);
}

/** Hands one file, or a ZIP of several, to the browser's downloads. */
export async function download(projectId: string, entries: readonly Entry[]): Promise<void> {
  const client = clientOf(projectId);
  const [only, ...others] = entries;
  try {
    const isFile = only?.kind === 'file' && others.length === 0;
    const { url } = isFile
      ? await client.files.url(only.id, { disposition: 'attachment' })
      : await client.files.archive(toIds(entries));
    saveFrom(url);
  } catch (error) {
    void toastError(error);
  }
}

/** @throws CadizError, such as folder_exists */
export async function createFolder(projectId: string, name: string, parent: string | null): Promise<Folder> {
  const folder = await clientOf(projectId).folders.create(name, { parent });
  await refresh(projectId);
  return folder;
}

/** @throws CadizError, such as folder_exists */
export async function rename(projectId: string, entry: Entry, name: string): Promise<void> {
  const { files, folders } = clientOf(projectId);
  const call = (to: string) =>
    entry.kind === 'file' ? files.update(entry.id, { fileName: to }) : folders.update(entry.id, { name: to });
  const step = begin();
  try {
    await call(name);
  } catch (error) {
    drop(step);
    throw error;
  }
  remember(() => void takeBack(projectId, () => call(entry.name)), step);
  await refresh(projectId);
}
