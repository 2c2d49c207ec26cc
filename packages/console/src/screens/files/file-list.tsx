import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type KeyboardEvent, lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { FilesSearch } from '../../router.tsx';
import { text } from '../../text/text.ts';
import { type Chosen, download, toChosen } from './commands.ts';
import { elementIdOf } from './entry-parts.tsx';
import type { ListCommands } from './list-commands.ts';
import { Row } from './row.tsx';
import { Tile } from './tile.tsx';
import { useGridSizes } from './use-grid-sizes.ts';
import { type Entry, toLook } from './use-listing.ts';
import type { Selection } from './use-selection.ts';
import { useSteadyRows } from './use-steady-rows.ts';

const ContextMenu = lazy(async () => ({ default: (await import('./context-menu.tsx')).ContextMenu }));

export type Sort = 'name' | 'createdAt' | 'fileSize';

interface FileListProps {
  projectId: string;
  entries: readonly Entry[];
  /** How many there are in all, if that is known. */
  total: number | null | undefined;
  search: FilesSearch;
  selection: Selection;
  canChange: boolean;
  onMove: (chosen: Chosen) => void;
  onRemove: (chosen: Chosen) => void;
  /** Called when the end of what is loaded comes near. */
  onEnd: () => void;
  onSort: (sort: Sort) => void;
}

/** The rows or tiles of a listing: only those in sight are drawn, and more are loaded as one scrolls. */
export function FileList(props: FileListProps) {
  const { projectId, entries, total, search, selection, canChange, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [{ id: currentId, index: currentIndex }, setCurrent] = useState<{ id?: string; index: number }>({ index: 0 });
  // Others may have added something before it; and if it is gone, the keys go on where it was.
  const found = entries.findIndex(({ id }) => id === currentId);
  const current = found >= 0 ? found : Math.min(currentIndex, entries.length - 1);
  const [renamed, setRenamed] = useState<string>();
  const [menu, setMenu] = useState<{ entry: Entry; point: { x: number; y: number } }>();
  const isGrid = search.view === 'grid';
  const hasPath = search.scope === 'project';
  const { columns, height, headHeight } = useGridSizes(scroller, isGrid);
  const virtual = useVirtualizer({
    count: Math.ceil(entries.length / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: isGrid ? 3 : 12,
    scrollMargin: headHeight,
    scrollPaddingStart: headHeight,
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  useSteadyRows(scroller, entries, { columns, height });
  const lines = virtual.getVirtualItems();
  const lastIndex = (lines.at(-1)?.index ?? 0) * columns;
  useEffect(() => {
    if (lastIndex > entries.length - 60) onEnd();
  }, [lastIndex, entries.length, onEnd]);

  const open = useOpen(projectId);
  /** What commands look at: they are made once, so that a change does not draw every row again. */
  const now = useRef({ ...props, open });
  now.current = { ...props, open };
  const commands = useMemo<ListCommands>(() => {
    const showRow = (entry: Entry) =>
      requestAnimationFrame(() => document.getElementById(elementIdOf(entry.id))?.focus({ preventScroll: true }));
    return {
      open: (entry) => now.current.open(entry),
      choose(entry, how) {
        now.current.selection[how](entry.id);
        setCurrent({ id: entry.id, index: now.current.entries.indexOf(entry) });
      },
      chosenWith: (entry) => (now.current.selection.has(entry.id) ? now.current.selection.chosen : toChosen([entry])),
      download: ({ entries }) => void download(now.current.projectId, entries),
      move: (chosen) => now.current.onMove(chosen),
      remove: (chosen) => now.current.onRemove(chosen),
      rename: ({ id }) => setRenamed(id),
      renamed(entry, step) {
        const { entries } = now.current;
        const next = step && entries[entries.findIndex(({ id }) => id === entry.id) + step];
        setRenamed(next?.id);
        if (!next) showRow(entry);
      },
      showMenu: (entry, point) => setMenu({ entry, point }),
    };
  }, []);

  function go(to: number, isExtending: boolean) {
    const next = Math.max(0, Math.min(entries.length - 1, to));
    const entry = entries[next];
    if (!entry) return;
    setCurrent({ id: entry.id, index: next });
    virtual.scrollToIndex(Math.floor(next / columns));
    if (isExtending) selection.extend(entry.id);
    requestAnimationFrame(() => {
      // Whoever types a name by now keeps the focus.
      if (document.activeElement instanceof HTMLInputElement) return;
      document.getElementById(elementIdOf(entry.id))?.focus({ preventScroll: true });
    });
  }
  useKeptFocus(scroller, entries, () => {
    const row = currentId === undefined ? null : document.getElementById(elementIdOf(currentId));
    // One that is only elsewhere now takes the focus, but nobody along with it.
    if (row) row.focus({ preventScroll: true });
    else go(current, false);
  });

  function onKeyDown(event: KeyboardEvent) {
    const entry = entries[current];
    const { target } = event;
    if (!entry || (target instanceof HTMLInputElement && target.type !== 'checkbox')) return;
    const command = toCommand(event, entry);
    if (!command) return;
    event.preventDefault();
    command();
  }

  /** What a key does, if it is one of the list's. */
  function toCommand(event: KeyboardEvent, entry: Entry): (() => void) | undefined {
    const { key, shiftKey } = event;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 400) / height) - 1) * columns;
    const steps: Record<string, number> = {
      ArrowDown: columns,
      ArrowUp: -columns,
      PageDown: page,
      PageUp: -page,
      ...(isGrid && { ArrowRight: 1, ArrowLeft: -1 }),
      Home: -entries.length,
      End: entries.length,
    };
    if (event.metaKey || event.ctrlKey) return key === 'a' ? selection.all : undefined;
    const step = steps[key];
    if (step !== undefined) return () => go(current + step, shiftKey);
    const chosen = selection.count === 0 ? toChosen([entry]) : selection.chosen;
    // The focus may still be on its way from the entry before.
    const isAtEntry = event.target instanceof Element && event.target.id.startsWith(elementIdOf(''));
    const preview = isAtEntry && entry.kind === 'file' ? () => open(entry) : undefined;
    const forAll: Record<string, (() => void) | undefined> = {
      Enter: isAtEntry ? () => open(entry) : undefined,
      ' ': preview,
      i: preview,
      x: () => selection.toggle(entry.id),
      D: () => commands.download(chosen),
      Escape: selection.count === 0 ? undefined : selection.clear,
    };
    const forEditors: Record<string, () => void> = {
      F2: () => setRenamed(entry.id),
      m: () => commands.move(chosen),
      Delete: () => commands.remove(chosen),
    };
    return forAll[key] ?? (canChange ? forEditors[key] : undefined);
  }

  const Part = isGrid ? Tile : Row;
  const toLine = (line: number) =>
    entries.slice(line * columns, (line + 1) * columns).map((entry, offset) => {
      const index = line * columns + offset;
      return (
        <Part
          key={entry.id}
          projectId={projectId}
          entry={entry}
          index={index}
          isSelected={selection.has(entry.id)}
          isCurrent={index === current}
          isRenamed={entry.id === renamed}
          hasPath={hasPath}
          canChange={canChange}
          commands={commands}
        />
      );
    });
  return (
    <>
      <div
        ref={scroller}
        className={`scroll list ${hasPath ? 'search' : ''} ${selection.count === 0 ? '' : 'selecting'}`}
        role="grid"
        aria-label={text.nav.files}
        aria-rowcount={total ? Math.ceil(total / columns) : -1}
        aria-multiselectable="true"
        onKeyDown={onKeyDown}
      >
        {!isGrid && <Head {...props} hasPath={hasPath} />}
        <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {lines.map(({ index, start }) => (
            <div
              key={index}
              {...(isGrid ? { role: 'row', 'aria-rowindex': index + 1 } : { role: 'presentation' })}
              className={`row-at ${isGrid ? 'tiles' : ''}`}
              style={{
                transform: `translateY(${start - headHeight}px)`,
                ...(isGrid && { gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }),
              }}
            >
              {toLine(index)}
            </div>
          ))}
        </div>
      </div>
      {/* Beside the grid, which may have nothing in it but rows. */}
      {menu && (
        <Suspense>
          <ContextMenu
            key={`${menu.entry.id} ${menu.point.x} ${menu.point.y}`}
            {...menu}
            canChange={canChange}
            commands={commands}
          />
        </Suspense>
      )}
    </>
  );
}

/** Gives the focus to the entry that the keys are at, unless something else has it. */
export function focusList(): void {
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>('[role=grid] [tabindex="0"]')?.focus({ preventScroll: true });
}

/** Opens a folder, or the preview of a file. */
function useOpen(projectId: string): (entry: Entry) => void {
  const navigate = useNavigate();
  return ({ kind, id }) => {
    if (kind === 'folder')
      void navigate({
        to: '/projects/$projectId/files/$folderId',
        params: { projectId, folderId: id },
        search: toLook,
      });
    else void navigate({ to: '.', search: (before) => ({ ...before, file: id }) });
  };
}

/** Moves the focus on when the entry that had it is gone, so that the keys go on. */
function useKeptFocus(list: React.RefObject<HTMLElement | null>, entries: readonly Entry[], focus: () => void): void {
  const hadFocus = useRef(false);
  useEffect(() => {
    const note = () => {
      if (document.activeElement !== document.body)
        hadFocus.current = list.current?.contains(document.activeElement) ?? false;
    };
    document.addEventListener('focusin', note);
    return () => document.removeEventListener('focusin', note);
  }, [list]);
  useEffect(() => {
    if (hadFocus.current && document.activeElement === document.body) focus();
  }, [entries]);
}

const heads = [
  { sort: 'name', label: text.files.name, isEnd: false, isPath: false },
  { sort: undefined, label: text.files.where, isEnd: false, isPath: true },
  { sort: 'fileSize', label: text.files.size, isEnd: true, isPath: false },
  { sort: undefined, label: text.files.type, isEnd: false, isPath: false },
  { sort: 'createdAt', label: text.files.added, isEnd: false, isPath: false },
] as const;

/** The heads of the columns, which sort. */
function Head({ search, onSort, hasPath }: Pick<FileListProps, 'search' | 'onSort'> & { hasPath: boolean }) {
  const order = search.order ?? 'asc';
  const OrderIcon = order === 'asc' ? ArrowUp : ArrowDown;
  return (
    <div className="thead" role="row">
      <span className="cell-check" role="columnheader">
        <span className="sr">{text.files.selection}</span>
      </span>
      {heads
        .filter(({ isPath }) => hasPath || !isPath)
        .map(({ sort, label, isEnd }) => {
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
  );
}
