import type { Answer } from '@cadiz/contract';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { call } from '../../api.ts';
import type { AuditSearch } from './search.ts';

export type Event = Answer<'listEvents'>['events'][number];

/** The events of a project, the latest first, a hundred a page. Only its owners may read them. */
export const eventsQuery = (projectId: string) =>
  infiniteQueryOptions({
    queryKey: ['audit', projectId],
    queryFn: ({ pageParam }) => call('listEvents', { projectId, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });

const startOf = (day: string) => new Date(`${day}T00:00:00`).getTime();

/** @returns whether an event is among those that are looked for */
export function toFilter({ kind, by, from, to }: AuditSearch): (event: Event) => boolean {
  const first = from === undefined ? -Infinity : startOf(from);
  const lastDay = new Date(to === undefined ? 0 : startOf(to));
  lastDay.setDate(lastDay.getDate() + 1);
  const end = to === undefined ? Infinity : lastDay.getTime();
  return (event) => {
    const at = Date.parse(event.at);
    return (
      (kind === undefined || event.type.startsWith(`${kind}.`)) &&
      (by === undefined || event.userId === by || event.apiKeyId === by) &&
      at >= first &&
      at < end
    );
  };
}

/** Whether no older event can match: the oldest that has been read is from before the first day. */
export const isBefore = (event: Event | undefined, { from }: AuditSearch): boolean =>
  event !== undefined && from !== undefined && Date.parse(event.at) < startOf(from);
