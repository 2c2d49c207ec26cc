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

/** What many screens read, under the keys by which it is read again after a change. */

/**
 * Reads again, after a change, also what is just being read for the first time: TanStack Query would take that answer for a fresh
 * one, though it may be older than the change.
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
    // The SDK repeats requests itself, and goes by the network itself: a service on this machine needs none.
    queries: { retry: false, staleTime: 10_000, networkMode: 'always', refetchOnReconnect: true },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type Project = Answer<'getProject'>;
export type Role = 'owner' | 'editor' | 'viewer';
export type Session = NonNullable<Answer<'getSession'>>;

/** Tells the other windows of this browser who is signed in: each shows what belongs to one person. */
export const windows = new BroadcastChannel('session');
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

/** Reads who has signed in, and forgets all else. Clearing the session's query would leave its watchers without an answer. */
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
/** What counts towards the limit of a project, which includes the trash. */
export const toUsedBytes = ({ totalBytes, trashedBytes }: Answer<'usage'>): number => totalBytes + trashedBytes;
export const membersQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['members', projectId],
    queryFn: async () => (await call('listMembers', { projectId })).members,
  });

const readAgain = ({ queryKey }: { queryKey: QueryKey }) => void queryClient.invalidateQueries({ queryKey });

whenRefused((code) => {
  if (code === 'role_missing') readAgain({ queryKey: ['members'] });
  // If access to the project was lost, the frame of its screens says so once the project is no longer listed.
  const projects = queryClient.getQueryData(projectsQuery.queryKey);
  if (code === 'project_not_found' && projects?.some(({ id }) => location.pathname.includes(id)))
    readAgain(projectsQuery);
});

let lastUser: Session['user'] | undefined;

/** Who is signed in; the last who was, for a screen that is drawn once more after signing out. Only for screens that need a session. */
export function useUser(): Session['user'] {
  const { data } = useQuery(sessionQuery);
  lastUser = data?.user ?? lastUser;
  if (!lastUser) throw new Error('Nobody is signed in.');
  return lastUser;
}

/** The role in a project of whoever is signed in; `viewer` until it is known. */
export function useRole(projectId: string): Role {
  const user = useUser();
  const { data } = useQuery(membersQuery(projectId));
  return data?.find(({ userId }) => userId === user.id)?.role ?? 'viewer';
}
