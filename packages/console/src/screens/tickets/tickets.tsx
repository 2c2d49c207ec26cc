import type { CreatedTicket, Ticket } from '@cadiz/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus, Ticket as TicketIcon } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { membersQuery, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useQueue } from '../../use-queue.ts';
import { isEnded } from '../keys/expiry.tsx';
import { keysQuery } from '../keys/keys-query.ts';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { SnippetTabs } from '../keys/snippet-tabs.tsx';
import { Page } from '../page.tsx';
import { ticketSnippets } from './snippets.ts';
import { stateOf } from './ticket-state.ts';
import { TicketTable } from './ticket-table.tsx';

const CreateTicket = lazy(onceReachable(async () => ({ default: (await import('./create-ticket.tsx')).CreateTicket })));
const RevokeTicket = lazy(onceReachable(async () => ({ default: (await import('./revoke-ticket.tsx')).RevokeTicket })));

/** How often they are read again while one of them may be in use. */
const liveMilliseconds = 10_000;

/** The tickets of a project with what they have used, the newest first. */
export function Tickets() {
  const { projectId = '' } = useParams({ strict: false });
  const { isSuccess: isKnown, error: membersError } = useQuery(membersQuery(projectId));
  const mayUpload = useRole(projectId) !== 'viewer';
  const query = useInfiniteQuery({
    queryKey: ['tickets', projectId],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => clientOf(projectId).tickets.page({ limit: 100, cursor: pageParam }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: mayUpload,
    // What a live one has used changes by itself.
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ items }) => items.some((ticket) => stateOf(ticket) === 'live')) ? liveMilliseconds : false,
  });
  const { data: keys } = useQuery({ ...keysQuery(projectId, mayUpload), enabled: mayUpload });
  const endedKeys = new Set(keys?.filter(isEnded).map(({ id }) => id));
  const [isCreating, setCreating] = useState(false);
  const created = useQueue<CreatedTicket>();
  const [revoked, setRevoked] = useState<Ticket>();
  const { tickets } = text;
  const rows = query.data?.pages.flatMap((page) => page.items) ?? [];
  const error = membersError ?? query.error;
  return (
    <Page
      title={text.nav.tickets}
      lead={tickets.lead}
      actions={
        mayUpload && (
          <Button look="main" icon={Plus} onClick={() => setCreating(true)}>
            {tickets.create}
          </Button>
        )
      }
    >
      <ProblemNote error={error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {!mayUpload && isKnown && <Empty icon={TicketIcon} title={tickets.forEditors} hint={tickets.forEditorsHint} />}
      {query.isPending && !error && (mayUpload || !isKnown) && <Skeleton />}
      {query.isSuccess && rows.length === 0 && <Empty icon={TicketIcon} title={tickets.none} hint={tickets.noneHint} />}
      {rows.length > 0 && (
        <TicketTable projectId={projectId} tickets={rows} endedKeys={endedKeys} onRevoke={setRevoked} />
      )}
      {query.hasNextPage && (
        <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          {tickets.moreRows}
        </Button>
      )}
      <Suspense>
        {isCreating && (
          <CreateTicket projectId={projectId} onClose={() => setCreating(false)} onCreated={created.add} />
        )}
        {revoked && <RevokeTicket projectId={projectId} ticket={revoked} onClose={() => setRevoked(undefined)} />}
      </Suspense>
      {created.first && !isCreating && !revoked && (
        <SecretDialog
          key={created.first.id}
          title={tickets.created}
          lead={tickets.createdLead}
          leaving={tickets.leaving}
          secret={created.first.ticket}
          onClose={created.next}
        >
          <SnippetTabs snippets={ticketSnippets(created.first)} />
        </SecretDialog>
      )}
    </Page>
  );
}
