import { useParams } from '@tanstack/react-router';
import { Upload } from 'lucide-react';
import { useEffect, useState } from 'react';
import { toastError } from '../../components/toast.tsx';
import { useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { readDropped } from './dropped.ts';
import { upload } from './uploads.ts';

/** The folder at which something is dropped: the row beneath it, or the folder that is shown. */
function toTarget(event: DragEvent, shown: string | null): string | null {
  const row = event.target instanceof Element ? event.target.closest('[data-folder-id]') : null;
  return row?.getAttribute('data-folder-id') ?? shown;
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;

/** Takes files and folders that are dropped anywhere in the window. */
export function DropZone({ projectId }: { projectId: string }) {
  const { folderId = null } = useParams({ strict: false });
  const role = useRole(projectId);
  const [isOver, setOver] = useState(false);
  const mayUpload = role !== 'viewer';
  useEffect(() => {
    function onDragOver(event: DragEvent) {
      if (!hasFiles(event)) return;
      // Otherwise the browser would open the file in place of the console.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = mayUpload ? 'copy' : 'none';
      setOver(true);
    }
    function onDragLeave(event: DragEvent) {
      if (event.relatedTarget === null) setOver(false);
    }
    function onDrop(event: DragEvent) {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      setOver(false);
      const target = toTarget(event, folderId);
      if (mayUpload) readDropped(event.dataTransfer).then((files) => upload(projectId, target, files), toastError);
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
  if (!isOver) return null;
  return (
    <div className="drop-all">
      <div className="pill">
        <Upload className="i l" aria-hidden="true" />
        <b>{mayUpload ? text.uploads.drop : text.uploads.mayNot}</b>
      </div>
    </div>
  );
}
