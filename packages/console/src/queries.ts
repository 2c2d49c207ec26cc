import type { Answer } from '@cadiz/contract';
import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type Query,
  QueryClient,
  type QueryKey,
  queryOptions,
  useQuery,
} from '@tanstack/react-query';
import { call, whenRefused } from './api.ts';

/** What many screens read, under the names by which it is read again after a change. */

/**
 * What is being read for the first time when something changes is read once more: TanStack Query takes the answer that is under way,
 * which may be older than the change, for a fresh one.
 */
class Queries extends QueryClient {
  override async invalidateQueries<K extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<K>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const isFirst = ({ state }: Query) => state.data === undefined && state.fetchStatus !== 'idle';
    const first = this.getQueryCache().findAll(filters).filter(isFirst);
    await super.invalidateQueries(filters, options);
    if (first.length === 0) return;
    await Promise.allSettled(first.map(({ promise }) => promise));
    await super.invalidateQueries({ predicate: (query) => first.includes(query) }, options);
  }
}

export const queryClient = new Queries({
  defaultOptions: {
    // The client repeats what may be repeated, and waits for the network: a service on this machine needs none.
    queries: { retry: false, staleTime: 10_000, networkMode: 'always', refetchOnReconnect: true },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type Project = Answer<'getProject'>;
export type Role = 'owner' | 'editor' | 'viewer';
export type Session = NonNullable<Answer<'getSession'>>;

/** Tells the other windows of this browser who is signed in: what they show, and what they ask for, is one person's. */
const windows = new BroadcastChannel('session');
const idOf = (session: Session | null) => session?.user.id ?? null;

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    const session = await call('getSession', {});
    windows.postMessage(idOf(session));
    return session;
  },
  staleTime: 60_000,
  // Another window may have signed somebody in or out.
  refetchOnWindowFocus: 'always',
});
windows.addEventListener('message', ({ data: id }) => {
  const known = queryClient.getQueryData(sessionQuery.queryKey);
  if (known !== undefined && idOf(known) !== id) void queryClient.invalidateQueries(sessionQuery);
});

/** Reads who is signed in, however lately that was read. */
export const readSession = () => queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });

/** Reads who has signed in, and forgets all else that was read before. Whoever watches a query that is cleared hears no more of it. */
export async function beginSession(): Promise<void> {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
  await readSession();
}

export const methodsQuery = queryOptions({
  queryKey: ['methods'],
  queryFn: () => call('listSignInMethods', {}),
  staleTime: 60_000,
});
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async () => (await call('listProjects', {})).projects,
});
export const usageQuery = (projectId: string) =>
  queryOptions({ queryKey: ['usage', projectId], queryFn: () => call('usage', { projectId }) });
/** What counts towards the limit of a project: the trash as well. */
export const toUsedBytes = ({ totalBytes, trashedBytes }: Answer<'usage'>): number => totalBytes + trashedBytes;
export const membersQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['members', projectId],
    queryFn: async () => (await call('listMembers', { projectId })).members,
  });

const readAgain = ({ queryKey }: { queryKey: QueryKey }) => void queryClient.invalidateQueries({ queryKey });

whenRefused((code) => {
  if (code === 'role_missing') readAgain({ queryKey: ['members'] });
  // Whoever has lost access to a project is told so by the frame of its screens, once it is no longer among theirs.
  const projects = queryClient.getQueryData(projectsQuery.queryKey);
  if (code === 'project_not_found' && projects?.some(({ id }) => location.pathname.includes(id)))
    readAgain(projectsQuery);
});

let lastUser: Session['user'] | undefined;

/** Who is signed in. Only for screens that nobody else sees; they may be drawn once more while somebody who has signed out leaves them. */
export function useUser(): Session['user'] {
  const { data } = useQuery(sessionQuery);
  lastUser = data?.user ?? lastUser;
  if (!lastUser) throw new Error('Nobody is signed in.');
  return lastUser;
}

/** What the one who looks may do in a project; `viewer` until it is known. */
export function useRole(projectId: string): Role {
  const user = useUser();
  const { data } = useQuery(membersQuery(projectId));
  return data?.find(({ userId }) => userId === user.id)?.role ?? 'viewer';
}
