import type { ListedFile, ListedFolder, Listing } from '@cadiz/client';
import { type InfiniteData, infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { linkOptions } from '@tanstack/react-router';
import { useMemo } from 'react';
import { clientOf } from '../../api.ts';
import { queryClient } from '../../queries.ts';
import type { FilesSearch } from './search.ts';

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

/** How a place is shown, which the next one keeps: neither the search nor the file of a preview. */
export const toLook = ({ sort, order, view }: FilesSearch): FilesSearch => ({ sort, order, view });

/** The URL of a folder; null is the root. */
export const toFolder = (projectId: string, id: string | null) =>
  id === null
    ? linkOptions({ to: '/projects/$projectId/files', params: { projectId }, search: toLook })
    : linkOptions({ to: '/projects/$projectId/files/$folderId', params: { projectId, folderId: id }, search: toLook });

/** The URL of a folder, or of the preview of a file. @param isAtDetails whether the preview begins with its details */
export const toPlace = (projectId: string, { kind, id }: Pick<Entry, 'kind' | 'id'>, isAtDetails = false) =>
  kind === 'folder'
    ? toFolder(projectId, id)
    : linkOptions({
        to: '.',
        search: (before: FilesSearch) => ({ ...before, file: id }),
        state: { isOverList: true, isAtDetails },
      });

/** How often to look for changes by others, in milliseconds. */
const lookAgainAfter = 30_000;
/** With more pages than this, reading them all again is left to the focus. */
const mostPagesAgain = 5;

/** The beginning of the keys of all listings of a project, by which they are read again after a change. */
export const listingKey = (projectId: string) => ['list', projectId] as const;

/** From more entries than this on, the end of a listing is read as well, so that it is there at once. */
const mostFromStart = 1000;

/** Which end of a listing is read on, towards the other. */
export type Side = 'start' | 'end';

/** Entries of a listing, in its order. */
export interface Loaded {
  entries: readonly Entry[];
  /** How many stand before those that have not been loaded; undefined if all have been. */
  gapAt: number | undefined;
}

/** What is in a place, as far as it has been loaded, folders first: from the start on, and of a long listing from its end as well. */
export function useListing(place: Place) {
  const start = useInfiniteQuery({ ...toQuery(place, 'start'), placeholderData: keepPreviousData });
  const [first] = start.data?.pages ?? [];
  const isLong = first?.total === null || (first?.total ?? 0) > mostFromStart;
  const hasEnd = isLong && !start.isPlaceholderData;
  const end = useInfiniteQuery({ ...toQuery(place, 'end'), enabled: hasEnd });
  const read = { start, end };
  const endData = hasEnd ? end.data : undefined;
  const loaded = useMemo(() => join(start.data, endData), [start.data, endData]);
  const loadMore = (side: Side) => {
    const { hasNextPage, isFetching, isError, fetchNextPage } = read[side];
    // After an error, people decide when it is tried again.
    if (hasNextPage && !isFetching && !isError) void fetchNextPage();
  };
  return {
    ...loaded,
    loadMore,
    isPending: start.isPending,
    error: start.error ?? (hasEnd ? end.error : null),
    retry: () => void (start.error ? start : end).refetch(),
    breadcrumbs: first?.breadcrumbs ?? [],
    total: first?.total,
  };
}

/** Reads the beginning of a folder that is about to be opened. If that fails, whoever opens it is told. */
export const readAhead = (place: Place) => void queryClient.prefetchInfiniteQuery(toQuery(place, 'start'));

/** The pages of a listing. From the end they are those of the opposite order. */
function toQuery({ projectId, folderId, search }: Place, side: Side) {
  const { sort = 'name', order: wanted = 'asc', q, scope } = search;
  const order = (side === 'start') === (wanted === 'asc') ? 'asc' : 'desc';
  const folder = scope === 'project' ? undefined : folderId;
  return infiniteQueryOptions({
    queryKey: [...listingKey(projectId), { folder, sort, order, q, side }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      clientOf(projectId).files.page({
        signal,
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
    refetchOnWindowFocus: 'always',
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > mostPagesAgain ? false : lookAgainAfter),
  });
}

/** Puts what was read from both ends into one order. They have met when the last from the start is among those from the end. */
function join(start: Pages | undefined, end: Pages | undefined): Loaded {
  const entries = start?.pages.flatMap(toEntries) ?? [];
  const last = entries.at(-1);
  if (!last || start?.pages.at(-1)?.nextCursor === null) return { entries, gapAt: undefined };
  // In the opposite order folders come first as well: they are left to those from the start.
  const files = (end?.pages.flatMap(toEntries) ?? []).filter(({ kind }) => kind === 'file').reverse();
  const metAt = files.findIndex(({ id }) => id === last.id);
  // One that has gone from one end to the other may still be where it was in what was read first.
  const known = new Set(entries.map(({ id }) => id));
  const others = files.slice(metAt + 1).filter(({ id }) => !known.has(id));
  return { entries: [...entries, ...others], gapAt: metAt >= 0 ? undefined : entries.length };
}

type Pages = InfiniteData<Listing>;

/** The entries of each page that has been read: a row is drawn again only if its entry is another. */
const entriesOfPages = new WeakMap<Listing, Entry[]>();

export function toEntries(page: Listing): Entry[] {
  const known = entriesOfPages.get(page);
  if (known) return known;
  const entries = [
    ...page.folders.map((item): Entry => ({ kind: 'folder', id: item.id, name: item.name, item })),
    ...page.files.map((item): Entry => ({ kind: 'file', id: item.id, name: item.fileName, item })),
  ];
  entriesOfPages.set(page, entries);
  return entries;
}
