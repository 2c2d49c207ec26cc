import type { Listing } from '@cadiz/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { clientOf } from '../../api.ts';

/** The folders directly in a folder, by name, for choosing one of them. Null is the root. */
export const useFolders = (projectId: string, folder: string | null) =>
  useInfiniteQuery({
    queryKey: ['folders', projectId, folder],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => clientOf(projectId).files.page({ folder, sort: 'name', limit: 200, cursor: pageParam }),
    // Folders come first: a page with a file is the last that has any.
    getNextPageParam: ({ files, nextCursor }: Listing) => (files.length > 0 ? null : nextCursor),
  });
