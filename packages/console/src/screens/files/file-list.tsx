import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';
import type { FilesSearch } from '../../router.tsx';
import { text } from '../../text/text.ts';
import { deleteEntries } from './commands.ts';
import { Row, useOpen } from './row.tsx';
import type { Entry } from './use-listing.ts';
import type { Selection } from './use-selection.ts';

interface FileListProps {
  projectId: string;
  entries: readonly Entry[];
  /** How many there are in all, if that is known. */
  total: number | null | undefined;
  search: FilesSearch;
  selection: Selection;
  canChange: boolean;
  canDelete: boolean;
  /** Called when the end of what is loaded comes near. */
  onEnd: () => void;
  onSort: (sort: 'name' | 'createdAt' | 'fileSize') => void;
}

/** As in the tokens, so that no row has to be measured. */
function readRowHeight(): number {
  const style = getComputedStyle(document.documentElement);
  return Number.parseFloat(style.getPropertyValue('--row')) * Number.parseFloat(style.fontSize);
}

const columns = [
  { sort: 'name', label: text.files.name, isEnd: false },
  { sort: 'fileSize', label: text.files.size, isEnd: true },
  { sort: undefined, label: text.files.type, isEnd: false },
  { sort: 'createdAt', label: text.files.added, isEnd: false },
] as const;

/** The rows of a listing: only those in sight are drawn, and more are loaded as one scrolls. */
export function FileList(props: FileListProps) {
  const { projectId, entries, total, search, selection, canChange, canDelete, onEnd, onSort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const [renamed, setRenamed] = useState<string>();
  const open = useOpen(projectId);
  const [height] = useState(readRowHeight);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: 32,
  });
  const rows = virtual.getVirtualItems();
  const lastIndex = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastIndex > entries.length - 60) onEnd();
  }, [lastIndex, entries.length, onEnd]);

  const chosen = useRef(selection);
  chosen.current = selection;
  const onChoose = useCallback(
    (entry: Entry, how: 'only' | 'toggle' | 'extend') => {
      chosen.current[how](entry.id);
      setCurrent(entries.indexOf(entry));
    },
    [entries],
  );

  function go(to: number, isExtending: boolean) {
    const next = Math.max(0, Math.min(entries.length - 1, to));
    const entry = entries[next];
    if (!entry) return;
    setCurrent(next);
    virtual.scrollToIndex(next);
    if (isExtending) selection.extend(entry.id);
    requestAnimationFrame(() => {
      // Whoever types a name by now keeps the focus.
      if (document.activeElement instanceof HTMLInputElement) return;
      document.getElementById(`entry-${entry.id}`)?.focus({ preventScroll: true });
    });
  }

  function onKeyDown(event: KeyboardEvent) {
    const entry = entries[current];
    if (!entry || event.target instanceof HTMLInputElement) return;
    const page = Math.floor((scroller.current?.clientHeight ?? 400) / height) - 1;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    const isCommand = event.metaKey || event.ctrlKey;
    if (step !== undefined) go(current + step, event.shiftKey);
    else if (event.key === 'Home') go(0, event.shiftKey);
    else if (event.key === 'End') go(entries.length - 1, event.shiftKey);
    else if (event.key === 'Enter' && (event.target as Element).role === 'row') open(entry);
    else if (event.key === ' ' && entry.kind === 'file') open(entry);
    else if (event.key === 'x') selection.toggle(entry.id);
    else if (event.key === 'a' && isCommand) selection.all();
    else if (event.key === 'Escape') selection.clear();
    else if (event.key === 'F2' && canChange) setRenamed(entry.id);
    else if (event.key === 'Delete' && canDelete) {
      const picked = entries.filter(({ id }) => selection.ids.has(id));
      void deleteEntries(projectId, picked.length > 0 ? picked : [entry]);
      selection.clear();
    } else return;
    event.preventDefault();
  }

  const order = search.order ?? 'asc';
  const OrderIcon = order === 'asc' ? ArrowUp : ArrowDown;
  return (
    <div
      ref={scroller}
      className={`scroll list ${selection.ids.size > 0 ? 'selecting' : ''}`}
      role="grid"
      aria-label={text.nav.files}
      aria-rowcount={total ?? -1}
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
    >
      <div className="thead" role="row">
        <span className="cell-check" role="columnheader">
          <span className="sr">{text.files.selection}</span>
        </span>
        {columns.map(({ sort, label, isEnd }) => {
          const isOn = sort !== undefined && (search.sort ?? 'name') === sort;
          const ariaSort = isOn ? (order === 'asc' ? 'ascending' : 'descending') : undefined;
          return (
            <span key={label} role="columnheader" className={isEnd ? 'cell-end' : ''} aria-sort={ariaSort}>
              {sort === undefined ? (
                label
              ) : (
                <button type="button" className={isOn ? 'on' : ''} onClick={() => onSort(sort)}>
                  {label}
                  {isOn && <OrderIcon className="i s" aria-hidden="true" />}
                </button>
              )}
            </span>
          );
        })}
        <span role="columnheader">
          <span className="sr">{text.common.more}</span>
        </span>
      </div>
      <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {rows.map(({ index, start }) => {
          const entry = entries[index];
          if (!entry) return null;
          return (
            <div
              key={entry.id}
              role="presentation"
              className="row-at"
              style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
            >
              <Row
                projectId={projectId}
                entry={entry}
                index={index}
                isSelected={selection.ids.has(entry.id)}
                isCurrent={index === current}
                isRenamed={entry.id === renamed}
                canChange={canChange}
                canDelete={canDelete}
                onChoose={onChoose}
                onRename={setRenamed}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
