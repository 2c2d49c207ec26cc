import type { Listing } from '@cadiz/client';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { clientOf } from '../../api.ts';

const pageSize = 200;

// Folders come first: a page with a file is the last that has any.
const getNextPageParam = ({ files, nextCursor }: Listing) => (files.length > 0 ? null : nextCursor);

/** The folders directly in a folder, by name, for choosing one of them. Null is the root. */
export const useFolders = (projectId: string, folder: string | null) =>
  useInfiniteQuery({
    queryKey: ['folders', projectId, folder],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      clientOf(projectId).files.page({ folder, sort: 'name', limit: pageSize, cursor: pageParam }),
    getNextPageParam,
  });

/** The folders of a project whose names contain these words, with the way to each. Until they come, those of the words before. */
export const useFoundFolders = (projectId: string, words: string) =>
  useInfiniteQuery({
    queryKey: ['folders', projectId, { words }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      clientOf(projectId).files.page({
        search: words,
        paths: true,
        sort: 'name',
        limit: pageSize,
        cursor: pageParam,
        signal,
      }),
    getNextPageParam,
    enabled: words !== '',
    placeholderData: keepPreviousData,
  });
