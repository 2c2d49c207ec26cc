import type { Listing } from '@cadiz/client';
import type { InfiniteData } from '@tanstack/react-query';
import { clientOf } from '../../api.ts';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { hasArrived } from '../uploads/arrivals.ts';

const tree = ['list', 'folders', 'trash', 'usage'];
/** What has to be read again after an event, by the first word of its type: how the keys of those queries begin. */
const changes: Readonly<Record<string, readonly string[]>> = {
  file: [...tree, 'file'],
  folder: tree,
  bulk: tree,
  trash: ['trash', 'usage'],
  image: ['list', 'file'],
  link: ['links'],
  ticket: ['tickets'],
  quota: ['usage'],
  // Only owners hear of these.
  project: ['projects', 'usage'],
  member: ['members', 'keys', 'tickets'],
  invitation: ['invitations'],
  api_key: ['keys'],
  quarantine: [...tree, 'file', 'quarantines', 'key-uploads'],
  webhook: ['webhooks'],
};

/** How long changes are collected before they are read, in milliseconds. */
const collected = 500;
/** A list with more pages than this is not read again by itself. */
const mostPages = 5;

/** Reads again what others change in a project, until it is aborted. */
export async function follow(projectId: string, signal: AbortSignal): Promise<void> {
  const stale = new Set<string>();
  const recorded = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const addChanged = (kind: string) => {
    for (const name of changes[kind] ?? []) stale.add(name);
  };
  const readAgain = () => {
    timer = undefined;
    // What has been uploaded in this window is in the lists already.
    if ([...recorded].some((id) => !hasArrived(id))) addChanged('file');
    recorded.clear();
    for (const name of stale) {
      void queryClient.invalidateQueries({
        queryKey: [name],
        predicate: ({ queryKey, state }) => isOf(queryKey, projectId) && !isLong(state.data),
      });
    }
    stale.clear();
  };
  try {
    for await (const event of clientOf(projectId).events.follow({ signal })) {
      if (event.type === 'quota.reached') void toast(text.live.quota(event.data.percent));
      if (event.type === 'file.created') recorded.add(event.data.id);
      else addChanged(event.type.split('.')[0] ?? '');
      if (stale.size + recorded.size > 0) timer ??= setTimeout(readAgain, collected);
    }
  } catch {
    // If access was lost, the next request says so; lists are read again every half minute without this.
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a key belongs to a project. Those of one file, of its links and of all projects do not say which. */
const isOf = ([name, of]: readonly unknown[], projectId: string) =>
  of === projectId || name === 'file' || name === 'links' || name === 'projects';

const isLong = (data: unknown) => ((data as InfiniteData<Listing> | undefined)?.pages?.length ?? 0) > mostPages;
