import type { QueueEntry } from '@cadiz/client';
import { useEffect } from 'react';
import { toast, toastError } from '../../components/toast.tsx';
import { text } from '../../text/text.ts';
import { isCovered } from '../shell/is-covered.ts';
import { isTyping } from '../shell/is-typing.ts';
import { readDropped } from './dropped.ts';
import { upload } from './uploads.ts';

/** What browsers call a picture that was copied out of a page or from the screen. */
const namelessPicture = /^image(\.\w+)$/;

/** How long ago the browser has made a file of such a picture, at most, in milliseconds: a file of that name on a disk is older. */
const mostMilliseconds = 5000;

/** Takes files and pictures that are pasted into a folder, unless that happens in a field or a dialog. */
export function usePaste(projectId: string, folderId: string | null, mayUpload: boolean): void {
  useEffect(() => {
    function onPaste(event: ClipboardEvent) {
      const { clipboardData } = event;
      if (!clipboardData?.types.includes('Files') || isTyping(event) || isCovered()) return;
      event.preventDefault();
      if (!mayUpload) {
        void toast(text.uploads.mayNot);
        return;
      }
      readDropped(clipboardData)
        .then(({ files, emptyFolders }) => upload(projectId, folderId, files.map(toNamed), emptyFolders))
        .catch(toastError);
    }
    window.addEventListener('paste', onPaste);
    return () => window.removeEventListener('paste', onPaste);
  }, [projectId, folderId, mayUpload]);
}

/** Gives a picture without a name of its own one with the local time. */
function toNamed(entry: QueueEntry): QueueEntry {
  const { file, path } = entry;
  if (!(file instanceof File) || (path ?? file.name) !== file.name) return entry;
  const match = namelessPicture.exec(file.name);
  const now = Date.now();
  if (!match || now - file.lastModified > mostMilliseconds) return entry;
  // As ISO 8601 has it, but in the zone of the reader, and without the colons that Windows allows in no name.
  const local = new Date(now - new Date(now).getTimezoneOffset() * 60_000).toISOString();
  const moment = local.slice(0, 19).replace('T', ' ').replaceAll(':', '.');
  return { file, name: `${text.uploads.pasted(moment)}${match[1]}` };
}
