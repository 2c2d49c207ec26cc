import type { File, Listing } from '@cadiz/client';
import type { InfiniteData } from '@tanstack/react-query';
import { queryClient } from '../../queries.ts';
import { listingKey } from '../files/use-listing.ts';
import { toNameKey } from './names.ts';

/** Files that have been uploaded are put into the listings that show their folder, without reading those again. */

/** A file that has been recorded. */
export interface Arrival {
  file: File;
  /** The id of the file that it took the place of. */
  replaced?: string | undefined;
  /** Whether it came with folders, which may be new. */
  hasFolders: boolean;
}

/** When each was recorded, on the clock of the page, in milliseconds. */
const arrived = new Map<string, number>();

/** Whether a file has been uploaded in this window, and is in its listings for that. */
export const hasArrived = (fileId: string): boolean => arrived.has(fileId);

/** How long ago a file was uploaded in this window, in milliseconds. */
export const arrivedAgo = (fileId: string): number => performance.now() - (arrived.get(fileId) ?? -Infinity);

type Compare = (a: File, b: File) => number;
type Pages = InfiniteData<Listing>;

const byKey =
  (toKey: (file: File) => string | number): Compare =>
  (a, b) => {
    const [left, right] = [toKey(a), toKey(b)];
    return left < right ? -1 : left > right ? 1 : a.id < b.id ? -1 : 1;
  };

/** The orders of the service. */
const sorts: Record<string, Compare> = {
  name: byKey(({ fileName }) => toNameKey(fileName)),
  createdAt: byKey(({ createdAt }) => createdAt),
  fileSize: byKey(({ fileSize }) => fileSize),
};

/** Shows files that have been recorded. */
export function showArrived(projectId: string, arrivals: readonly Arrival[]): void {
  for (const { file } of arrivals) arrived.set(file.id, performance.now());
  for (const [folder, some] of groupByFolder(arrivals)) {
    for (const [sort, compare] of Object.entries(sorts)) {
      for (const order of ['asc', 'desc']) {
        const queryKey = [...listingKey(projectId), { folder, sort, order, q: undefined }];
        const inOrder: Compare = order === 'asc' ? compare : (a, b) => compare(b, a);
        queryClient.setQueriesData<Pages>({ queryKey }, (data) => data && withArrivals(data, some, inOrder));
        for (const { queryHash, state } of queryClient.getQueryCache().findAll({ queryKey }))
          if (state.fetchStatus !== 'idle') overtaken.add(queryHash);
      }
    }
  }
  refreshSoon(
    projectId,
    arrivals.some(({ hasFolders }) => hasFolders),
  );
}

/** Shows folders that have been created. */
export const showFolders = (projectId: string): void => refreshSoon(projectId, true);

function groupByFolder(arrivals: readonly Arrival[]): Map<string | null, Arrival[]> {
  const groups = new Map<string | null, Arrival[]>();
  for (const arrival of arrivals) {
    const { folderId } = arrival.file;
    groups.set(folderId, [...(groups.get(folderId) ?? []), arrival]);
  }
  return groups;
}

/** Puts files into the pages that have been read. Those that belong further on are only counted. */
function withArrivals({ pages, pageParams }: Pages, arrivals: readonly Arrival[], compare: Compare): Pages {
  const gone = new Set(arrivals.map(({ replaced }) => replaced));
  const rows = pages.flatMap((page, index) => page.files.map((file) => ({ file, index })));
  const known = new Set(rows.map(({ file }) => file.id));
  const left = rows.filter(({ file }) => !gone.has(file.id));
  let more = left.length - rows.length;
  const last = pages.length - 1;
  const isWhole = pages[last]?.nextCursor === null;
  for (const { file } of arrivals) {
    if (known.has(file.id)) continue;
    more++;
    const at = findPlace(left, file, compare);
    const next = left[at];
    if (next) left.splice(at, 0, { file, index: next.index });
    else if (isWhole) left.push({ file, index: last });
  }
  const files: File[][] = pages.map(() => []);
  for (const { file, index } of left) files[index]?.push(file);
  return {
    pageParams,
    pages: pages.map((page, index) => ({
      ...page,
      files: files[index] ?? [],
      total: typeof page.total === 'number' ? page.total + more : page.total,
    })),
  };
}

/** Before which row a file comes. */
function findPlace(rows: readonly { file: File }[], file: File, compare: Compare): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row && compare(row.file, file) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How long changes are collected before they are read, in milliseconds. */
const refreshMilliseconds = 1000;

/** Listings that were being read when files arrived: what they are answered may be older. */
const overtaken = new Set<string>();

/** The projects to be read again soon, and whether folders in them may be new. */
const stale = new Map<string, boolean>();
let isReading = false;

/** Reads again what the files alone do not tell: results of searches, new folders, the usage, and listings that were being read meanwhile. */
function refreshSoon(projectId: string, hasFolders: boolean): void {
  stale.set(projectId, hasFolders || (stale.get(projectId) ?? false));
  if (isReading) return;
  isReading = true;
  setTimeout(() => {
    isReading = false;
    const older = new Set(overtaken);
    overtaken.clear();
    for (const [id, isAll] of stale) {
      void queryClient.invalidateQueries({
        queryKey: listingKey(id),
        predicate: ({ queryKey, queryHash }) => isAll || isSearch(queryKey[2]) || older.has(queryHash),
      });
      const others = isAll ? ['usage', 'folders', 'trash'] : ['usage', 'trash'];
      for (const name of others) void queryClient.invalidateQueries({ queryKey: [name, id] });
    }
    stale.clear();
  }, refreshMilliseconds);
}

const isSearch = (view: unknown): boolean =>
  typeof view === 'object' && view !== null && 'q' in view && view.q !== undefined;
