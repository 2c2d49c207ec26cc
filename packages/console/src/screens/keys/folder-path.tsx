import { queryOptions, useQuery } from '@tanstack/react-query';
import { Box, Folder } from 'lucide-react';
import { clientOf, codeOf } from '../../api.ts';
import { text } from '../../text/text.ts';

/** The names from the root down to a folder; null if it is in the trash or gone. */
const pathQuery = (projectId: string, folderId: string) =>
  queryOptions({
    queryKey: ['path', projectId, folderId],
    queryFn: async () => {
      try {
        const { breadcrumbs } = await clientOf(projectId).files.page({ folder: folderId, limit: 1 });
        return breadcrumbs.slice(1).map(({ name }) => name);
      } catch (error) {
        if (codeOf(error) === 'folder_not_found') return null;
        throw error;
      }
    },
  });

/** Where a key or a ticket reaches: the whole project, or a folder with its path. */
export function FolderPath({ projectId, folderId }: { projectId: string; folderId: string | null }) {
  const { data, isSuccess } = useQuery({
    ...pathQuery(projectId, folderId ?? ''),
    enabled: folderId !== null,
  });
  const { keys } = text;
  const path = folderId === null ? keys.wholeProject : isSuccess ? (data?.join(' / ') ?? keys.folderGone) : '…';
  const Icon = folderId === null ? Box : Folder;
  return (
    <span className="line g1">
      <Icon className="i s" aria-hidden="true" />
      <bdi className="clip">{path}</bdi>
    </span>
  );
}
