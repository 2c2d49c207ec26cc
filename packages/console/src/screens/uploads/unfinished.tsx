import type { Upload } from '@cadiz/client';
import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { clientOf, codeOf } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Meter } from '../../components/parts.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { formatBytes } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { FileName } from '../files/file-name.tsx';
import { chooseFiles } from './choose-files.ts';
import { toUnnumbered } from './incoming.ts';
import { findUnfinished, forget } from './resume-store.ts';
import { upload } from './uploads.ts';

/** Large uploads that ended with their page: offered to be gone on with, once their files are chosen again. */

const keyOf = (projectId: string) => ['unfinished', projectId] as const;

async function read(projectId: string): Promise<Upload[]> {
  const client = clientOf(projectId);
  const found = await Promise.all((await findUnfinished(projectId)).map((id) => readOne(client.uploads, id)));
  return found.filter((one) => one !== undefined);
}

/** @returns undefined for one that cannot be gone on with */
async function readOne(uploads: ReturnType<typeof clientOf>['uploads'], id: string): Promise<Upload | undefined> {
  try {
    const upload = await uploads.get(id);
    if (upload.status === 'open') return upload;
    forget(id);
  } catch (error) {
    if (codeOf(error) !== 'upload_not_found') throw error;
    forget(id);
  }
  return undefined;
}

export function Unfinished({ projectId }: { projectId: string }) {
  const { data = [] } = useQuery({
    queryKey: keyOf(projectId),
    queryFn: () => read(projectId),
    staleTime: Number.POSITIVE_INFINITY,
    // Once other uploads have been shown in its place, some of these may have ended.
    gcTime: 0,
  });
  if (data.length === 0) return null;
  const leave = ({ uploadId }: Upload) =>
    queryClient.setQueryData<Upload[]>(keyOf(projectId), (all) => all?.filter((one) => one.uploadId !== uploadId));

  async function resume(unfinished: Upload): Promise<void> {
    const [file] = await chooseFiles();
    if (!file) return;
    const { fileName, fileSize, folderId } = unfinished;
    const isNamed = file.name === fileName || file.name === toUnnumbered(fileName);
    if (!isNamed || file.size !== fileSize) {
      void toast(text.uploads.otherFile(fileName, formatBytes(fileSize)));
      return;
    }
    leave(unfinished);
    await upload(projectId, folderId, [{ file, name: fileName }]);
  }

  async function discard(upload: Upload): Promise<void> {
    try {
      await clientOf(projectId).uploads.abort(upload.uploadId);
    } catch (error) {
      if (codeOf(error) !== 'upload_not_found') return toastError(error);
    }
    forget(upload.uploadId);
    leave(upload);
  }

  const { uploads: words } = text;
  return (
    <section className="tray" aria-label={words.unfinished(data.length)}>
      <div className="tray-head">
        <h2>{words.unfinished(data.length)}</h2>
      </div>
      <ul className="tray-list">
        {data.map((one) => (
          <li key={one.uploadId} className="up">
            <div className="up-text">
              <FileName name={one.fileName} />
              <div className="cap">{words.needsFile(Math.floor(toShare(one) * 100))}</div>
              <div className="still">
                <Meter share={toShare(one)} label={one.fileName} />
              </div>
              <Button size="s" className="word" onClick={() => void resume(one).catch(toastError)}>
                {words.chooseAgain}
              </Button>
            </div>
            <IconButton icon={X} size="s" label={words.discard(one.fileName)} onClick={() => discard(one)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const toShare = ({ parts, fileSize }: Upload): number => parts.reduce((sum, { size }) => sum + size, 0) / fileSize;
