import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Download, ScrollText } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatCount } from '../../format.ts';
import { membersQuery, useRole } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { EventDialog } from './event-dialog.tsx';
import { EventTable } from './event-table.tsx';
import { type Event, eventsQuery, isBefore, toFilter } from './events.ts';
import { saveAsCsv, saveAsJson } from './export.ts';
import { Filters } from './filters.tsx';
import { useNames } from './names.ts';
import './audit.css';

const route = '/signed-in/shell/projects/$projectId/audit';

/** Who changed what in a project, and when; for its owners. */
export function Audit() {
  const { projectId } = useParams({ from: route });
  const { data: members, error, refetch } = useQuery(membersQuery(projectId));
  const isOwner = useRole(projectId) === 'owner';
  const { audit } = later;
  if (isOwner) return <Events projectId={projectId} />;
  return (
    <Page title={text.nav.audit}>
      <ProblemNote error={error} action={<Button onClick={() => refetch()}>{text.common.retry}</Button>} />
      {members && <Empty icon={ScrollText} title={audit.forOwners} hint={audit.forOwnersHint} />}
      {!members && !error && <Skeleton />}
    </Page>
  );
}

/** How many pages are read at once in search of an event that the filter lets through. */
const pagesAtOnce = 20;

function Events({ projectId }: { projectId: string }) {
  const search = useSearch({ from: route });
  const navigate = useNavigate();
  const query = useInfiniteQuery(eventsQuery(projectId));
  const [opened, setOpened] = useState<Event>();
  const { audit } = later;
  const read = query.data?.pages.flatMap((page) => page.events) ?? [];
  const isWanted = toFilter(search);
  const events = read.filter(isWanted);
  const names = useNames(projectId, read, true);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const hasMore = query.hasNextPage && !isBefore(read.at(-1), search);
  /** Reads on until there is more to show. */
  async function readMore() {
    for (let pages = 0; pages < pagesAtOnce; pages++) {
      const { data, hasNextPage, isError } = await query.fetchNextPage();
      const page = data?.pages.at(-1)?.events ?? [];
      if (isError || !hasNextPage || page.some(isWanted) || isBefore(page.at(-1), search)) return;
    }
  }
  const actors = new Map(
    read.flatMap((event) => {
      const id = event.userId ?? event.apiKeyId;
      return id === null ? [] : [[id, names.ofActor(event)] as const];
    }),
  );
  return (
    <Page
      title={text.nav.audit}
      lead={audit.lead}
      actions={
        events.length > 0 && (
          <Menu
            trigger={<Button icon={Download}>{audit.export}</Button>}
            actions={[
              { label: 'CSV', run: () => saveAsCsv(projectId, events, names) },
              { label: 'JSON', run: () => saveAsJson(projectId, events) },
            ]}
          />
        )
      }
    >
      <Filters
        search={search}
        actors={actors}
        onChange={(change) => void navigate({ to: '.', replace: true, search: { ...search, ...change } })}
      />
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isPending && <Skeleton />}
      {events.length > 0 && <EventTable events={events} names={names} onOpen={setOpened} />}
      {query.isSuccess && events.length === 0 && (
        <Empty
          icon={ScrollText}
          title={audit.none}
          hint={isFiltered ? audit.noneOf(formatCount(read.length)) : audit.noneHint}
        />
      )}
      {query.isSuccess && (
        <footer className="line wrap">
          <span className="grow quiet num" role="status">
            {isFiltered
              ? audit.shownOf(formatCount(events.length), formatCount(read.length))
              : audit.shown(events.length)}
          </span>
          {hasMore && (
            <Button busy={query.isFetchingNextPage} onClick={readMore}>
              {isFiltered ? audit.searchOlder : audit.older}
            </Button>
          )}
        </footer>
      )}
      {opened && <EventDialog event={opened} names={names} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}
