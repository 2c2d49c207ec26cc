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
  // Other options are no reason to begin another queue.
  const queue = useMemo(() => client.uploads.create([], options), [client]);
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

const nothing = { files: [], folders: [], breadcrumbs: [], nextCursor: null } satisfies Listing;

/**
 * What is in a folder, a page at a time.
 *
 * @example
 * const { files, hasMore, loadMore } = useFiles(cadiz, { folder: 'holiday', sort: 'name' });
 */
export function useFiles(client: Client, listed: ListOptions & { limit?: number | undefined } = {}): Files {
  const key = JSON.stringify(listed);
  const [state, setState] = useState<{ listing: Listing; isLoading: boolean; error?: CadizError }>({
    listing: nothing,
    isLoading: true,
  });
  const current = useRef<AbortController>(undefined);

  const load = useCallback(
    (after: Listing | undefined) => {
      current.current?.abort();
      const mine = new AbortController();
      const { signal } = mine;
      current.current = mine;
      setState((state) => ({ listing: state.listing, isLoading: true }));
      client.files
        .page({ limit: 100, ...JSON.parse(key), ...(after?.nextCursor && { cursor: after.nextCursor }), signal })
        .then((page) => {
          if (signal.aborted) return;
          const files = [...(after?.files ?? []), ...page.files];
          const folders = [...(after?.folders ?? []), ...page.folders];
          setState({ listing: { ...page, files, folders }, isLoading: false });
        })
        .catch((error: unknown) => {
          if (signal.aborted) return;
          if (!isCadizError(error)) throw error;
          setState(({ listing }) => ({ listing, isLoading: false, error }));
        });
    },
    [client, key],
  );

  useEffect(() => {
    setState({ listing: nothing, isLoading: true });
    load(undefined);
    return () => current.current?.abort();
  }, [load]);

  const { listing, isLoading, error } = state;
  const hasMore = listing.nextCursor !== null;
  return {
    ...listing,
    isLoading,
    hasMore,
    error,
    loadMore: () => {
      if (hasMore && !isLoading) load(listing);
    },
    reload: () => load(undefined),
  };
}
