import type { Answer } from '@cadiz/contract';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { call } from '../../api.ts';

export type Account = Answer<'listUsers'>['users'][number];

/** The accounts of the service, the oldest first, up to a thousand a page. */
export const usersQuery = infiniteQueryOptions({
  queryKey: ['users'],
  queryFn: ({ pageParam }) => call('listUsers', pageParam === null ? {} : { cursor: pageParam }),
  initialPageParam: null as string | null,
  getNextPageParam: ({ nextCursor }) => nextCursor,
});
