import type { ListedFile, ListedFolder, Listing } from '@cadiz/client';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { clientOf } from '../../api.ts';
import type { FilesSearch } from '../../router.tsx';

/** A folder or a file of a listing. */
export type Entry = { kind: 'folder'; id: string; name: string; item: ListedFolder } | FileEntry;
export type FileEntry = { kind: 'file'; id: string; name: string; item: ListedFile };

/** A place of a project, and how it is looked at. */
export interface Place {
  projectId: string;
  /** Null for the root. */
  folderId: string | null;
  search: FilesSearch;
}

const pageSize = 200;

/** The side of pictures in small, in pixels. */
export const thumbnail = 256;

/** How a place is looked at, which the next one keeps: neither what was searched for, nor the file that was shown. */
export const toLook = ({ sort, order, view }: FilesSearch): FilesSearch => ({ sort, order, view });

/** In milliseconds: how often it is looked whether others have changed something. */
const lookAgainAfter = 30_000;
/** With more pages than this, reading them all again is left to the focus. */
const mostPagesAgain = 5;

/** The name under which the listings of a project are read again after a change. */
export const listingKey = (projectId: string) => ['list', projectId] as const;

/** What is in a place, as far as it has been loaded: folders first. */
export function useListing({ projectId, folderId, search }: Place) {
  const { sort = 'name', order = 'asc', q, scope } = search;
  const folder = scope === 'project' ? undefined : folderId;
  const query = useInfiniteQuery({
    queryKey: [...listingKey(projectId), { folder, sort, order, q }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      clientOf(projectId).files.page({
        ...(folder !== undefined && { folder }),
        ...(q !== undefined && { search: q, paths: scope === 'project' }),
        sort,
        order,
        limit: pageSize,
        counts: true,
        thumbnail,
        ...(pageParam !== undefined && { cursor: pageParam }),
      }),
    getNextPageParam: (page: Listing) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: 'always',
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > mostPagesAgain ? false : lookAgainAfter),
  });
  const entries = useMemo(() => query.data?.pages.flatMap(toEntries) ?? [], [query.data]);
  const [first] = query.data?.pages ?? [];
  return { ...query, entries, breadcrumbs: first?.breadcrumbs ?? [], total: first?.total };
}

const toEntries = ({ folders, files }: Listing): Entry[] => [
  ...folders.map((item): Entry => ({ kind: 'folder', id: item.id, name: item.name, item })),
  ...files.map((item): Entry => ({ kind: 'file', id: item.id, name: item.fileName, item })),
];
