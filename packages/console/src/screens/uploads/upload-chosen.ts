import { toastError } from '../../components/toast.tsx';
import { chooseFiles } from './choose-files.ts';
import { upload } from './uploads.ts';

/** Lets somebody choose files, and uploads them into a folder. Only as an answer to a click or a key. */
export function uploadChosen(projectId: string, folderId: string | null): void {
  chooseFiles({ isMany: true })
    .then((files) => upload(projectId, folderId, files))
    .catch(toastError);
}
