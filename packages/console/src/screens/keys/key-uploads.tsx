import type { ApiKey } from '@cadiz/client';
import type { Answer } from '@cadiz/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Badge, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { FileName } from '../files/file-name.tsx';
import './tables.css';

type UploadsPage = Answer<'listKeyUploads'>;
type Upload = UploadsPage['files'][number];

interface KeyUploadsProps {
  apiKey: ApiKey;
  projectId: string;
  onClose: () => void;
}

/** The files that a key has uploaded, wherever they are now. */
export function KeyUploads({ apiKey, projectId, onClose }: KeyUploadsProps) {
  const query = useUploads(projectId, apiKey);
  const files = query.data?.pages.flatMap((page) => page.files) ?? [];
  const { keys } = text;
  return (
    <Dialog
      open
      width="x"
      onClose={onClose}
      title={keys.uploadsOf(apiKey.name)}
      lead={keys.uploadsLead}
      footer={<Button onClick={onClose}>{text.common.close}</Button>}
    >
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isPending && <Skeleton rows={4} />}
      {query.isSuccess && files.length === 0 && <p className="quiet">{keys.noUploads}</p>}
      {files.length > 0 && (
        <div className="panel frame wide-table">
          <table className="table fixed-table upload-table">
            <thead>
              <tr>
                <th>{keys.file}</th>
                <th className="end">{keys.size}</th>
                <th>{keys.uploaded}</th>
              </tr>
            </thead>
            <tbody>
              {files.map((file) => (
                <tr key={file.id}>
                  <td className="main">
                    <span className="line">
                      <UploadName file={file} />
                      {file.state !== 'present' && <Badge tone="warn">{keys[file.state]}</Badge>}
                    </span>
                  </td>
                  <td className="end num">{formatBytes(file.fileSize)}</td>
                  <td>
                    <Moment at={file.createdAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {query.hasNextPage && (
        <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          {keys.moreRows}
        </Button>
      )}
    </Dialog>
  );
}

/** Leads to the file, or to the trash that it is in. What is in quarantine is nowhere to be seen. */
function UploadName({ file }: { file: Upload }) {
  const { projectId, folderId, fileName, state } = file;
  const name = <FileName name={fileName} />;
  if (state === 'quarantined') return name;
  if (state === 'trashed')
    return (
      <Link className="clip" to="/projects/$projectId/trash" params={{ projectId }}>
        {name}
      </Link>
    );
  const search = { file: file.id };
  if (folderId === null)
    return (
      <Link className="clip" to="/projects/$projectId/files" params={{ projectId }} search={search}>
        {name}
      </Link>
    );
  return (
    <Link className="clip" to="/projects/$projectId/files/$folderId" params={{ projectId, folderId }} search={search}>
      {name}
    </Link>
  );
}

const useUploads = (projectId: string, { id, createdAt }: ApiKey) =>
  useInfiniteQuery({
    queryKey: ['key-uploads', projectId, id],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<UploadsPage> => {
      let cursor = pageParam;
      // A page examines a limited number of files, and may find none of this key among them.
      for (;;) {
        signal.throwIfAborted();
        const page = await call('listKeyUploads', { projectId, apiKeyId: id, since: createdAt, limit: '100', cursor });
        if (page.files.length > 0 || page.nextCursor === null) return page;
        cursor = page.nextCursor;
      }
    },
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
