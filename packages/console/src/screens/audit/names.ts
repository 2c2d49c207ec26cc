import { useQuery } from '@tanstack/react-query';
import { clientOf } from '../../api.ts';
import { membersQuery } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Event } from './events.ts';

/** Names of those whom events name by their ids. */
export interface Names {
  ofUser: (id: string) => string;
  ofKey: (id: string) => string;
  /** Who did something. */
  ofActor: (event: Pick<Event, 'userId' | 'apiKeyId'>) => string;
}

/** The end of an id tells two apart; its beginning is a time. */
const shorten = (id: string) => `…${id.slice(-6)}`;

/** The names of members and of API keys, also revoked ones; of others, what the events themselves say. */
export function useNames(projectId: string, events: readonly Event[], isOwner: boolean): Names {
  const { data: members } = useQuery(membersQuery(projectId));
  const { data: keys } = useQuery({
    queryKey: ['keys', projectId],
    queryFn: () => clientOf(projectId).keys.list(),
    enabled: isOwner,
  });
  const users = new Map(members?.map(({ userId, name }) => [userId, name]));
  const keyNames = new Map<string, string>();
  for (const { type, subject } of events)
    if (type.startsWith('api_key.') && typeof subject.apiKeyId === 'string' && typeof subject.name === 'string')
      keyNames.set(subject.apiKeyId, subject.name);
  for (const { id, name } of keys ?? []) keyNames.set(id, name);
  const { audit } = later;
  const { common } = text;
  const ofUser = (id: string) => users.get(id) ?? audit.formerMember(shorten(id));
  const ofKey = (id: string) => keyNames.get(id) ?? audit.otherKey(shorten(id));
  return {
    ofUser,
    ofKey,
    ofActor: ({ userId, apiKeyId }) =>
      userId !== null ? ofUser(userId) : apiKeyId !== null ? ofKey(apiKeyId) : common.unknown,
  };
}
