import type { Listing } from '@cadiz/client';
import type { InfiniteData } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Upload } from 'lucide-react';
import { useEffect, useState } from 'react';
import { toastError } from '../../components/toast.tsx';
import { projectsQuery, queryClient, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { listingKey } from '../files/use-listing.ts';
import { readDropped } from './dropped.ts';
import { upload } from './uploads.ts';

/** A folder on which something can be dropped. */
interface Target {
  id: string | null;
  name: string;
}

/** The row of a folder beneath the pointer. */
function toRow({ target }: DragEvent): Target | undefined {
  const row = target instanceof Element ? target.closest('[data-folder-id]') : null;
  const id = row?.getAttribute('data-folder-id');
  return id ? { id, name: row?.querySelector('.name')?.textContent ?? '' } : undefined;
}

/** What a folder is called, as far as its listing has been read; the root is called like its project. */
function nameOf(projectId: string, folder: string | null): string {
  const read = queryClient.getQueriesData<InfiniteData<Listing>>({ queryKey: [...listingKey(projectId), { folder }] });
  const crumbs = read.map(([, data]) => data?.pages[0]?.breadcrumbs).find((some) => some !== undefined);
  const projects = queryClient.getQueryData(projectsQuery.queryKey);
  return crumbs?.at(-1)?.name ?? projects?.find(({ id }) => id === projectId)?.name ?? '';
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;

/** Takes files and folders that are dropped anywhere in the window. */
export function DropZone({ projectId }: { projectId: string }) {
  const { folderId = null } = useParams({ strict: false });
  const role = useRole(projectId);
  const [over, setOver] = useState<{ target: Target; count: number }>();
  const mayUpload = role !== 'viewer';
  useEffect(() => {
    function onDragOver(event: DragEvent) {
      if (!hasFiles(event)) return;
      // Otherwise the browser would open the file in place of the console.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = mayUpload ? 'copy' : 'none';
      const target = toRow(event) ?? { id: folderId, name: nameOf(projectId, folderId) };
      const count = event.dataTransfer?.items.length ?? 0;
      // The event comes many times a second.
      setOver((before) => (before?.target.id === target.id && before.count === count ? before : { target, count }));
    }
    function onDragLeave(event: DragEvent) {
      if (event.relatedTarget === null) setOver(undefined);
    }
    function onDrop(event: DragEvent) {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      setOver(undefined);
      const target = toRow(event)?.id ?? folderId;
      if (!mayUpload) return;
      readDropped(event.dataTransfer)
        .then(({ files, emptyFolders }) => upload(projectId, target, files, emptyFolders))
        .catch(toastError);
    }
    window.addEventListener('dragover', onDragOver);
    window.addEventListener('dragleave', onDragLeave);
    window.addEventListener('drop', onDrop);
    return () => {
      window.removeEventListener('dragover', onDragOver);
      window.removeEventListener('dragleave', onDragLeave);
      window.removeEventListener('drop', onDrop);
    };
  }, [projectId, folderId, mayUpload]);
  if (!over) return null;
  return (
    <div className="drop-all">
      <div className="pill">
        <Upload className="i l" aria-hidden="true" />
        <div>
          <b>{mayUpload ? text.uploads.drop(over.target.name) : text.uploads.mayNot}</b>
          {mayUpload && over.count > 0 && <div className="cap quiet">{text.common.items(over.count)}</div>}
        </div>
      </div>
    </div>
  );
}
