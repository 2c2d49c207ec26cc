import type { TrashEntry } from '@cadiz/client';
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Trash2, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { formatBytes } from '../../format.ts';
import { projectsQuery, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { isTyped, toVisible } from '../../typed.ts';
import { changeAll, refresh } from '../files/commands.ts';
import { Page } from '../page.tsx';
import { TrashTable } from './trash-table.tsx';

/** The most that the service lists with one request. */
const longestPage = 1000;

/** What was deleted and can still come back. */
export function Trash() {
  const { projectId = '' } = useParams({ strict: false });
  const mayChange = useRole(projectId) !== 'viewer';
  const [isAsking, setAsking] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ['trash', projectId],
    initialPageParam: undefined as string | undefined,
    // Somebody who reads on may be looking through thousands that were deleted at once.
    queryFn: ({ pageParam }) =>
      clientOf(projectId).trash.page({ limit: pageParam === undefined ? 100 : longestPage, cursor: pageParam ?? null }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const entries = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const chosen = entries.filter(({ id }) => ids.has(id));
  const days = keptDays(entries);
  const { trash } = text;
  return (
    <Page
      title={text.nav.trash}
      lead={days >= 1 ? trash.leadFor(days) : trash.lead}
      actions={
        mayChange &&
        entries.length > 0 &&
        // Never both: emptying would purge everything, and not what is chosen.
        (chosen.length > 0 ? (
          <RestoreMany projectId={projectId} entries={chosen} onDone={() => setIds(new Set())} />
        ) : (
          <Button icon={Trash2} onClick={() => setAsking(true)}>
            {trash.empty}
          </Button>
        ))
      }
    >
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isPending && <Skeleton />}
      {query.isSuccess && entries.length === 0 && <Empty icon={Trash2} title={trash.none} hint={trash.noneHint} />}
      {entries.length > 0 && (
        <TrashTable projectId={projectId} entries={entries} mayChange={mayChange} chosen={ids} onChoose={setIds} />
      )}
      {query.hasNextPage && (
        <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          {trash.more}
        </Button>
      )}
      {isAsking && (
        <EmptyTrash
          projectId={projectId}
          entries={entries}
          isMore={query.hasNextPage}
          onClose={() => setAsking(false)}
        />
      )}
    </Page>
  );
}

/** For how many days what is deleted is kept; 0 if nothing tells. */
function keptDays([entry]: readonly TrashEntry[]): number {
  return entry ? Math.round((Date.parse(entry.restorableUntil) - Date.parse(entry.deletedAt)) / 86_400_000) : 0;
}

interface RestoreManyProps {
  projectId: string;
  entries: readonly TrashEntry[];
  onDone: () => void;
}

/** Restores what is chosen. */
function RestoreMany({ projectId, entries, onDone }: RestoreManyProps) {
  const { trash } = text;
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const answers = await changeAll(entries, clientOf(projectId).files.restoreMany);
      return answers.flatMap(({ restored = [] }) => restored);
    },
    onError: toastError,
    onSuccess: (restored) => {
      onDone();
      const how = [
        restored.some(({ movedToRoot }) => movedToRoot) && trash.someMovedToRoot,
        restored.some(({ renamedFrom }) => renamedFrom !== null) && trash.someRenamed,
      ].filter(Boolean);
      void toast([trash.restoredMany(entries.length), ...how].join(' '));
    },
    onSettled: () => refresh(projectId),
  });
  return (
    <Button icon={Undo2} busy={isPending} onClick={() => mutate()}>
      {trash.restoreMany(entries.length)}
    </Button>
  );
}

interface EmptyTrashProps {
  projectId: string;
  entries: readonly TrashEntry[];
  /** Whether there are others that have not been loaded. */
  isMore: boolean;
  onClose: () => void;
}

/** Says how much goes, and asks for the name of the project, since nothing comes back. */
function EmptyTrash({ projectId, entries, isMore, onClose }: EmptyTrashProps) {
  const { data: projects } = useQuery(projectsQuery);
  const name = toVisible(projects?.find(({ id }) => id === projectId)?.name ?? '');
  const [typed, setTyped] = useState('');
  const { trash } = text;
  const files = entries.reduce((sum, entry) => sum + entry.files, 0);
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  return (
    <FormDialog
      isDanger
      title={trash.empty}
      lead={trash.emptyLead(files, formatBytes(bytes), isMore)}
      submit={trash.emptyForGood}
      isOff={!isTyped(typed, name)}
      onClose={onClose}
      send={async (_, close) => {
        const emptied = await clientOf(projectId).trash.empty();
        close();
        void toast(trash.emptied(emptied.files, formatBytes(emptied.bytes)));
        await refresh(projectId);
      }}
    >
      {() => (
        <Field
          label={trash.typeName(name)}
          value={typed}
          autoComplete="off"
          onChange={({ target }) => setTyped(target.value)}
        />
      )}
    </FormDialog>
  );
}
