import type { TrashEntry } from '@cadiz/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { File, Folder, Undo2 } from 'lucide-react';
import { Fragment, type Ref, useLayoutEffect, useRef, useState } from 'react';
import { clientOf } from '../../api.ts';
import { now } from '../../clock.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Moment } from '../../components/parts.tsx';
import { rangeWith } from '../../components/range-with.ts';
import { toast, toastError } from '../../components/toast.tsx';
import { formatAgo, formatBytes, formatExactly } from '../../format.ts';
import { membersQuery, useUser } from '../../queries.ts';
import { locale, text } from '../../text/text.ts';
import { refresh } from '../files/commands.ts';
import { FileName } from '../files/file-name.tsx';
import './trash.css';

/** How high a row is until it has been drawn, in pixels. */
const usualHeight = 44;

interface TrashTableProps {
  projectId: string;
  entries: readonly TrashEntry[];
  mayChange: boolean;
  /** The ids of those that are chosen. */
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

/** What is in the trash, row by row: only those in sight are drawn. */
export function TrashTable({ projectId, entries, mayChange, chosen, onChoose }: TrashTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const toScroller = () => body.current?.closest('.scroll') ?? null;
  const [top, setTop] = useState(0);
  // What stands above the rows may change with each drawing.
  useLayoutEffect(() => {
    const scroller = toScroller();
    if (!body.current || !scroller) return;
    const toTop = (element: Element) => element.getBoundingClientRect().top;
    setTop(Math.round(toTop(body.current) - toTop(scroller) + scroller.scrollTop));
  });
  const [focusedId, setFocusedId] = useState<string>();
  const focused = entries.findIndex(({ id }) => id === focusedId);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: toScroller,
    estimateSize: () => usualHeight,
    getItemKey: (index) => entries[index]?.id ?? index,
    overscan: 12,
    scrollMargin: top,
    // The row with the focus stays drawn, however far one scrolls: without it, the keys could not go on from there.
    rangeExtractor: (range) => rangeWith(range, focused),
  });
  const drawn = virtual.getVirtualItems();
  const { trash } = text;
  return (
    <div className="panel frame wide-table">
      <table className="table trash-table" aria-rowcount={entries.length + 1}>
        <thead>
          <tr>
            <th>
              <span className="line">
                {mayChange && (
                  <input
                    type="checkbox"
                    className="check"
                    aria-label={trash.selectAll}
                    checked={entries.every(({ id }) => chosen.has(id))}
                    onChange={({ target }) => onChoose(new Set(target.checked ? entries.map(({ id }) => id) : []))}
                  />
                )}
                {text.files.name}
              </span>
            </th>
            <th className="only-wide">{trash.where}</th>
            <th className="end only-wide">{text.files.size}</th>
            <th className="only-wide">{trash.deleted}</th>
            <th className="only-wide">{trash.goes}</th>
            <th>
              <span className="sr">{text.common.more}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {drawn.map(({ index, start }, nth) => {
            const entry = entries[index];
            if (!entry) return null;
            return (
              <Fragment key={entry.id}>
                <Space height={start - (drawn[nth - 1]?.end ?? top)} />
                <Row
                  ref={virtual.measureElement}
                  index={index}
                  projectId={projectId}
                  entry={entry}
                  mayChange={mayChange}
                  isChosen={chosen.has(entry.id)}
                  onChoose={(isChosen) => {
                    const next = new Set(chosen);
                    if (isChosen) next.add(entry.id);
                    else next.delete(entry.id);
                    onChoose(next);
                  }}
                  onFocus={() => setFocusedId(entry.id)}
                />
              </Fragment>
            );
          })}
          <Space height={virtual.getTotalSize() - ((drawn.at(-1)?.end ?? top) - top)} />
        </tbody>
      </table>
    </div>
  );
}

/** Stands for rows that are not drawn. */
const Space = ({ height }: { height: number }) =>
  height > 0 && (
    <tr className="space">
      <td style={{ height }} />
    </tr>
  );

/** The service names no path for an entry whose folder is in the trash as well. */
function placeOf({ path, parentId }: TrashEntry): string {
  if (path.length > 0) return path.map(({ name }) => name).join(' / ');
  return parentId === null ? '/' : text.trash.folderGone;
}

interface RowProps {
  projectId: string;
  entry: TrashEntry;
  /** Where it stands among all. */
  index: number;
  mayChange: boolean;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onFocus: () => void;
  ref: Ref<HTMLTableRowElement>;
}

function Row({ projectId, entry, index, mayChange, isChosen, onChoose, onFocus, ref }: RowProps) {
  const { trash } = text;
  const restore = useMutation({
    mutationFn: async () => {
      const client = clientOf(projectId);
      const kind = entry.kind === 'file' ? client.files : client.folders;
      return (await kind.restore(entry.id)).restored;
    },
    onError: toastError,
    onSuccess: ({ movedToRoot, renamedFrom }) => {
      const how = [movedToRoot && trash.movedToRoot, renamedFrom !== null && trash.renamed].filter(Boolean);
      void toast([trash.restored(entry.name), ...how].join(' '));
    },
    onSettled: () => refresh(projectId),
  });
  const Icon = entry.kind === 'file' ? File : Folder;
  return (
    <tr ref={ref} data-index={index} aria-rowindex={index + 2} onFocus={onFocus}>
      <td className="main">
        <span className="line">
          {mayChange && (
            <input
              type="checkbox"
              className="check"
              aria-label={text.files.select(entry.name)}
              checked={isChosen}
              onChange={({ target }) => onChoose(target.checked)}
            />
          )}
          <span className={`thumb ${entry.kind}`}>
            <Icon className="i" aria-hidden="true" />
          </span>
          <FileName name={entry.name} />
        </span>
        <small className="cap quiet only-phone">
          {formatBytes(entry.bytes)} · {trash.goesIn(toLeft(entry.restorableUntil))}
        </small>
      </td>
      <td className="clip only-wide">
        <bdi>{placeOf(entry)}</bdi>
      </td>
      <td className="end num only-wide">{formatBytes(entry.bytes)}</td>
      <td className="only-wide">
        <Moment at={entry.deletedAt} /> <DeletedBy projectId={projectId} by={entry.deletedBy} />
      </td>
      <td className="only-wide">
        <Left until={entry.restorableUntil} />
      </td>
      <td className="end">
        {mayChange && (
          <Button
            size="s"
            icon={Undo2}
            aria-label={`${trash.restore}: ${entry.name}`}
            busy={restore.isPending}
            onClick={() => restore.mutate()}
          >
            <span className="restore-word">{trash.restore}</span>
          </Button>
        )}
      </td>
    </tr>
  );
}

const dayMilliseconds = 86_400_000;
const inDays = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

const toMidnight = (at: number) => new Date(at).setHours(0, 0, 0, 0);

/** For how many days of the calendar something is kept yet. */
const toDaysLeft = (until: string) => Math.round((toMidnight(Date.parse(until)) - toMidnight(now())) / dayMilliseconds);

/** `in 30 days`; on the last, in hours. */
function toLeft(until: string): string {
  const days = toDaysLeft(until);
  return days < 1 ? formatAgo(until) : inDays.format(days, 'day');
}

/** How long something is kept yet. */
function Left({ until }: { until: string }) {
  const moment = (
    <time className="num" dateTime={until} title={formatExactly(until)}>
      {toLeft(until)}
    </time>
  );
  return toDaysLeft(until) < 2 ? <Badge tone="warn">{moment}</Badge> : moment;
}

/** Who deleted something, as far as that is known. */
function DeletedBy({ projectId, by }: { projectId: string; by: TrashEntry['deletedBy'] }) {
  const user = useUser();
  const { data: members } = useQuery(membersQuery(projectId));
  const { trash } = text;
  if (by === null || 'ticketId' in by) return null;
  if ('apiKeyId' in by) return <span className="quiet">{trash.byKey}</span>;
  if (by.userId === user.id) return <span className="quiet">{trash.byYou}</span>;
  const name = members?.find(({ userId }) => userId === by.userId)?.name;
  return name === undefined ? null : <span className="quiet">{trash.by(name)}</span>;
}
