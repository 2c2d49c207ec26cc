import { call, clientOf } from '../../api.ts';
import { toast, toastError } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { type Entry, listingKey } from './use-listing.ts';

/** What can be done with the entries of a listing. Each reads the listings again. */

export const toIds = (entries: readonly Entry[]) => ({
  fileIds: entries.filter(({ kind }) => kind === 'file').map(({ id }) => id),
  folderIds: entries.filter(({ kind }) => kind === 'folder').map(({ id }) => id),
});

/** Reads again what a change may have changed. */
export async function refresh(projectId: string): Promise<void> {
  await Promise.all(
    [listingKey(projectId), ['usage', projectId], ['trash', projectId]].map((queryKey) =>
      queryClient.invalidateQueries({ queryKey }),
    ),
  );
}

/** Puts entries into the trash, and offers to take that back. */
export async function deleteEntries(projectId: string, entries: readonly Entry[]): Promise<void> {
  const ids = toIds(entries);
  try {
    await call('bulk', { projectId, action: 'delete', ...ids });
    void toast(text.files.deleted(entries.length), { undo: () => void restoreEntries(projectId, ids) });
  } catch (error) {
    void toastError(error);
  }
  await refresh(projectId);
}

async function restoreEntries(projectId: string, ids: ReturnType<typeof toIds>): Promise<void> {
  try {
    await call('bulk', { projectId, action: 'restore', ...ids });
  } catch (error) {
    void toastError(error);
  }
  await refresh(projectId);
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
    const link = document.createElement('a');
    link.href = url;
    link.download = '';
    link.click();
  } catch (error) {
    void toastError(error);
  }
}

/** @throws CadizError, such as folder_exists */
export async function rename(projectId: string, entry: Entry, name: string): Promise<void> {
  const { files, folders } = clientOf(projectId);
  if (entry.kind === 'file') await files.update(entry.id, { fileName: name });
  else await folders.update(entry.id, { name });
  await refresh(projectId);
}
