import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { Client, ListOptions } from './client.ts';
import { type CadizError, isCadizError } from './error.ts';
import type { File, Folder, Listing } from './types.ts';
import type { UploadOptions } from './upload/job.ts';
import type { QueueSnapshot, UploadQueue } from './upload/queue.ts';

/** A queue and what it looks like at the moment. */
export interface Uploads extends QueueSnapshot, Omit<UploadQueue, 'snapshot' | 'subscribe'> {}

/**
 * A queue of uploads for one component and those below it: a headless hook, to be shown as you like. The options are
 * those of the first render.
 *
 * @example
 * const { uploads, add, cancel } = useUploads(cadiz, { folder: 'holiday' });
 * <input type="file" multiple onChange={(event) => add(event.target.files ?? [])} />
 */
export function useUploads(client: Client, options: UploadOptions = {}): Uploads {
  // Other options are no reason to begin another queue; nor is an edit of the component while it runs, for which React
  // forgets what useMemo has made.
  const create = () => ({ client, queue: client.uploads.create([], options) });
  const [kept, setKept] = useState(create);
  if (kept.client !== client) setKept(create);
  const { queue } = kept;
  const snapshot = useSyncExternalStore(queue.subscribe, queue.snapshot, queue.snapshot);
  return useMemo(() => ({ ...queue, ...snapshot }), [queue, snapshot]);
}

/** A folder, as far as it has been loaded. */
export interface Files {
  files: readonly File[];
  folders: readonly Folder[];
  breadcrumbs: Listing['breadcrumbs'];
  isLoading: boolean;
  hasMore: boolean;
  /** Why the last page could not be loaded. */
  error: CadizError | undefined;
  loadMore(): void;
  /** Loads the first page again, as after an upload. */
  reload(): void;
}

/** What has been loaded by one `load`: with other options, another one begins anew. */
interface Loaded {
  by?: (after?: Listing) => void;
  listing: Listing;
  isLoading: boolean;
  error?: CadizError;
}

const nothing: Loaded = {
  listing: { files: [], folders: [], breadcrumbs: [], nextCursor: null },
  isLoading: true,
};

/**
 * What is in a folder, a page at a time.
 *
 * @example
 * const { files, hasMore, loadMore } = useFiles(cadiz, { folder: 'holiday', sort: 'name' });
 */
export function useFiles(client: Client, listed: ListOptions & { limit?: number | undefined } = {}): Files {
  const key = JSON.stringify(listed);
  const [loaded, setLoaded] = useState(nothing);
  const current = useRef<AbortController>(undefined);

  const load = useCallback(
    (after?: Listing) => {
      current.current?.abort();
      const mine = new AbortController();
      const { signal } = mine;
      current.current = mine;
      setLoaded(({ by, listing }) => ({ ...nothing, ...(by === load && { listing }), by: load }));
      client.files
        .page({ limit: 100, ...JSON.parse(key), ...(after?.nextCursor && { cursor: after.nextCursor }), signal })
        .then((page) => {
          if (signal.aborted) return;
          const files = [...(after?.files ?? []), ...page.files];
          const folders = [...(after?.folders ?? []), ...page.folders];
          setLoaded({ by: load, listing: { ...page, files, folders }, isLoading: false });
        })
        .catch((error: unknown) => {
          if (signal.aborted) return;
          if (!isCadizError(error)) throw error;
          setLoaded(({ listing }) => ({ by: load, listing, isLoading: false, error }));
        });
    },
    [client, key],
  );

  useEffect(() => {
    load();
    return () => current.current?.abort();
  }, [load]);

  // Of options that have just changed, nothing has been loaded yet.
  const shown = loaded.by === load ? loaded : nothing;
  const { listing, isLoading, error } = shown;
  // What a component has kept of an earlier render, as until an upload ends, is about what is shown now.
  const latest = useRef<{ load: typeof load; shown: Loaded }>(undefined);
  useEffect(() => {
    latest.current = { load, shown };
    return () => {
      latest.current = undefined;
    };
  }, [load, shown]);
  const reload = useCallback(() => latest.current?.load(), []);
  const loadMore = useCallback(() => {
    const { load, shown } = latest.current ?? {};
    if (shown?.listing.nextCursor && !shown.isLoading) load?.(shown.listing);
  }, []);
  return { ...listing, isLoading, hasMore: listing.nextCursor !== null, error, loadMore, reload };
}
