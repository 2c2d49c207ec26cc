import { useNavigate, useRouter } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import {
  type KeyboardEvent,
  lazy,
  Suspense,
  startTransition,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { rangeWith } from '../../components/range-with.ts';
import { onceReachable } from '../../once-reachable.ts';
import { text } from '../../text/text.ts';
import { isCovered } from '../shell/is-covered.ts';
import { keyOf } from '../shell/key-of.ts';
import { phone } from '../shell/use-is-phone.ts';
import { type Chosen, toChosen, toShared } from './chosen.ts';
import { type EntryProps, elementIdOf } from './entry-parts.tsx';
import { useFlight } from './flight.ts';
import { toLines } from './lines.ts';
import type { MenuPoint } from './list-commands.ts';
import { loadAhead } from './load-commands.ts';
import { Row } from './row.tsx';
import type { FilesSearch } from './search.ts';
import { Tile } from './tile.tsx';
import { useGridSizes } from './use-grid-sizes.ts';
import { useListCommands } from './use-list-commands.ts';
import { type Entry, type Loaded, type Side, toPlace } from './use-listing.ts';
import type { Renaming } from './use-renaming.ts';
import type { EntrySelection } from './use-selection.ts';
import { useSteadyRows } from './use-steady-rows.ts';

/** How close to what has not been loaded the entries in sight come before more is read, in entries. */
const near = 60;

const loadMenu = onceReachable(() => import('./context-menu.tsx'));
const ContextMenu = lazy(async () => ({ default: (await loadMenu()).ContextMenu }));
const loadActions = onceReachable(() => import('./selection-actions.tsx'));
const SelectionActions = lazy(async () => ({ default: (await loadActions()).SelectionActions }));

export type Sort = 'name' | 'createdAt' | 'fileSize';

interface FileListProps extends Loaded {
  projectId: string;
  /** How many there are in all, if that is known. */
  total: number | null | undefined;
  search: FilesSearch;
  selection: EntrySelection;
  renaming: Renaming;
  canChange: boolean;
  onMove: (chosen: Chosen) => void;
  onRemove: (chosen: Chosen) => void;
  onShare: (chosen: Chosen) => void;
  /** Called when what has not been loaded comes near. */
  onMore: (side: Side) => void;
  onSort: (sort: Sort) => void;
}

/** The rows or tiles of a listing: only those in sight are drawn, and more are loaded as one scrolls. */
export function FileList(props: FileListProps) {
  const { projectId, entries, gapAt = entries.length, total, search, selection, renaming, canChange, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [currentId, setCurrentId] = useState<string>();
  const current = useCurrent(entries, currentId);
  const [menu, setMenu] = useState<{ entry: Entry; point: MenuPoint; nth: number }>();
  const isGrid = search.view === 'grid';
  const hasPath = search.scope === 'project';
  const { files, folders, headHeight, isPhone } = useGridSizes(scroller, isGrid);
  const { columns, height } = files;
  const lines = useMemo(
    () => toLines({ entries, gapAt: props.gapAt }, files, folders),
    [entries, props.gapAt, files, folders],
  );
  const flight = useFlight(scroller, height);
  // Those out of sight are drawn once those in sight are there.
  const [isShown, setShown] = useState(false);
  useEffect(() => startTransition(() => setShown(true)), []);
  useEffect(loadAhead, []);
  const virtual = useVirtualizer({
    count: lines.count,
    getScrollElement: () => scroller.current,
    estimateSize: (line) => lines.sizeOf(line).height,
    overscan: isShown ? (isGrid ? 3 : 12) : 0,
    scrollMargin: headHeight,
    scrollPaddingStart: headHeight,
    // The line with the focus stays drawn, however far one scrolls: without it, the keys could not go on from there.
    rangeExtractor: (range) => rangeWith(range, lines.of(current)),
  });
  useLayoutEffect(() => virtual.measure(), [virtual, height, lines.ofFolders]);
  useSteadyRows(scroller, entries, lines, virtual.scrollOffset ?? 0);
  const drawn = virtual.getVirtualItems();
  const { startIndex, endIndex } = virtual.range ?? { startIndex: 0, endIndex: 0 };
  const [firstSeen] = lines.range(startIndex);
  const [, afterSeen] = lines.range(endIndex);
  useEffect(() => {
    if (props.gapAt === undefined) return;
    if (firstSeen < gapAt && afterSeen > gapAt - near) onMore('start');
    if (afterSeen > gapAt && firstSeen < gapAt + near) onMore('end');
  });

  const hrefOf = useHrefs(projectId, search);
  const navigate = useNavigate();
  const open = (entry: Entry, isAtDetails = false) => void navigate(toPlace(projectId, entry, isAtDetails));
  const commands = useListCommands({
    ...props,
    current,
    open,
    goTo: ({ id }) => setCurrentId(id),
    loadMenu() {
      void loadMenu();
      if (phone.matches) void loadActions();
    },
    showMenu: (entry, point) => setMenu((before) => ({ entry, point, nth: (before?.nth ?? 0) + 1 })),
  });

  function go(to: number, isExtending: boolean) {
    const next = Math.max(0, Math.min(entries.length - 1, to));
    const entry = entries[next];
    if (!entry) return;
    setCurrentId(entry.id);
    virtual.scrollToIndex(lines.of(next));
    if (isExtending) selection.extend(entry.id, entries[current]?.id);
    // At once if it is drawn: what the next key opens will give the focus back to what had it.
    if (!focus(entry)) requestAnimationFrame(() => focus(entry));
  }
  useKeptFocus(scroller, [entries, isGrid], () => {
    const row = currentId === undefined ? null : document.getElementById(elementIdOf(currentId));
    // An entry that has only moved gets the focus, but the list is not scrolled there.
    if (row) row.focus({ preventScroll: true });
    else go(current, false);
  });

  function onKeyDown(event: KeyboardEvent) {
    const entry = entries[current];
    // A dialog or menu that has just been opened may not have the focus yet.
    if (!entry || isTyping(event.target) || isCovered()) return;
    const command = toCommand(event, entry);
    if (!command) return;
    event.preventDefault();
    command();
  }

  /** Steps do not jump over what has not been loaded: they stop before it. */
  function toNear(step: number): number {
    const [from, to] = current < gapAt ? [0, gapAt] : [gapAt, entries.length];
    return Math.max(from, Math.min(to - 1, current + step));
  }

  /** The entry of another line that is below or above this one. */
  function toLine(next: number): number {
    const line = lines.of(current);
    const [from, to] = current < gapAt ? [0, gapAt] : [gapAt, entries.length];
    if (next < lines.of(from)) return from;
    if (next > lines.of(to - 1)) return to - 1;
    const [start, end] = lines.range(next);
    return Math.min(start + current - lines.range(line)[0], end - 1);
  }

  function toPage(direction: 1 | -1): number {
    const line = lines.of(current);
    const step = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 400) / height) - 1) * height;
    const next = lines.at(lines.topOf(line) + direction * step);
    return toLine(next === line ? line + direction : next);
  }

  /** What a key does, if it is one of the list's. */
  function toCommand(event: KeyboardEvent, entry: Entry): (() => void) | undefined {
    const key = keyOf(event);
    // Such as the key that goes back.
    if (event.altKey) return undefined;
    const places: Record<string, () => number> = {
      ArrowDown: () => toLine(lines.of(current) + 1),
      ArrowUp: () => toLine(lines.of(current) - 1),
      PageDown: () => toPage(1),
      PageUp: () => toPage(-1),
      ...(isGrid && { ArrowRight: () => toNear(1), ArrowLeft: () => toNear(-1) }),
      Home: () => 0,
      End: () => entries.length - 1,
    };
    const chosen = selection.count === 0 ? toChosen([entry]) : selection.chosen;
    const removeThem = canChange ? () => commands.remove(chosen) : undefined;
    if (event.metaKey || event.ctrlKey) return { a: selection.all, Backspace: removeThem }[key];
    const place = places[key];
    if (place) return () => go(place(), event.shiftKey);
    // Not at the box or the menu of an entry, which have keys of their own.
    const isAtEntry = event.target instanceof Element && event.target.matches(`[id^=${elementIdOf('')}], .open`);
    const preview = isAtEntry && entry.kind === 'file' ? () => open(entry) : undefined;
    const forAll: Record<string, (() => void) | undefined> = {
      Enter: isAtEntry ? () => open(entry) : undefined,
      ' ': preview,
      i: preview && (() => open(entry, true)),
      x: () => selection.toggle(entry.id),
      D: () => commands.download(chosen),
      Escape: selection.count === 0 ? undefined : selection.clear,
    };
    const forEditors: Record<string, (() => void) | undefined> = {
      F2: () => renaming.rename(entry.id),
      m: () => commands.move(chosen),
      l: toShared(chosen).length > 0 ? () => commands.share(chosen) : undefined,
      Delete: () => commands.remove(chosen),
    };
    const run = forAll[key] ?? (canChange ? forEditors[key] : undefined);
    // A key that is held goes on and on through the list, but changes one thing.
    return run && event.repeat ? () => undefined : run;
  }

  const unread = total ? Math.max(0, total - entries.length) : 0;
  const rowCount = lines.count - (lines.gap === undefined ? 0 : 1) + Math.ceil(unread / columns);
  /** The place of an entry among all; after what has not been loaded, it is known only if all are counted. */
  const toRow = (index: number) => (index < gapAt ? index : total ? total - entries.length + index : undefined);
  const toProps = (entry: Entry, index: number): EntryProps => ({
    projectId,
    entry,
    href: hrefOf(entry),
    row: toRow(index),
    isSelected: selection.has(entry.id),
    isCurrent: index === current,
    isRenamed: entry.id === renaming.id,
    isGone: entry.id === renaming.id && renaming.isGone,
    hasPath,
    found: search.q ?? '',
    isPhone,
    canChange,
    commands,
  });
  return (
    <>
      <div
        ref={scroller}
        className={`scroll list ${hasPath ? 'search' : ''} ${selection.count === 0 ? '' : 'selecting'}`}
        role="grid"
        aria-label={text.nav.files}
        aria-rowcount={total ? rowCount + (isGrid ? 0 : 1) : -1}
        aria-multiselectable="true"
        onKeyDown={onKeyDown}
        onPointerEnter={commands.loadMenu}
      >
        {!isGrid && <Head {...props} hasPath={hasPath} />}
        <div className="rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {drawn.flatMap(({ index, start }) => {
            const [from, to] = lines.range(index);
            const top = start - headHeight;
            if (index === lines.gap)
              return (
                <div key="gap" role="row" className="row-at" style={{ top }}>
                  <span className="gap-line quiet num" role="gridcell" style={{ height }}>
                    {text.files.between(total ? total - entries.length : undefined)}
                  </span>
                </div>
              );
            const shown = entries.slice(from, to);
            if (!isGrid)
              return shown.map((entry) => <Row key={entry.id} {...toProps(entry, from)} flight={flight} top={top} />);
            return (
              <div
                key={shown[0]?.id ?? index}
                role="row"
                aria-rowindex={from < gapAt ? index + 1 : undefined}
                className={`row-at tiles ${shown[0]?.kind === 'folder' ? 'cards' : ''}`}
                style={{ top, gridTemplateColumns: `repeat(${lines.sizeOf(index).columns}, minmax(0, 1fr))` }}
              >
                {shown.map((entry, offset) => (
                  <Tile key={entry.id} {...toProps(entry, from + offset)} />
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {/* Beside the grid, which may have nothing in it but rows. */}
      {menu && (
        <Suspense>
          <ContextMenu
            // A new one each time, since a menu is open from its beginning on.
            key={menu.nth}
            entry={menu.entry}
            point={menu.point}
            canChange={canChange}
            commands={commands}
          />
        </Suspense>
      )}
      {isPhone && selection.count !== 0 && (
        <Suspense>
          <SelectionActions chosen={selection.chosen} canChange={canChange} commands={commands} />
        </Suspense>
      )}
    </>
  );
}

/** Where the keys are: at an entry, wherever that stands by now. If it is gone, they go on at the next one that has stayed. */
function useCurrent(entries: readonly Entry[], id: string | undefined): number {
  const before = useRef(entries);
  const { current, isThere } = useMemo(() => {
    const found = entries.findIndex((entry) => entry.id === id);
    return { current: found === -1 ? toNext(before.current, id, entries) : found, isThere: found !== -1 };
  }, [entries, id]);
  useEffect(() => {
    if (isThere) before.current = entries;
  }, [entries, isThere]);
  return current;
}

/** Where the entry stands that came after one that is gone; where that was, if none of those has stayed. */
function toNext(before: readonly Entry[], id: string | undefined, entries: readonly Entry[]): number {
  const at = before.findIndex((entry) => entry.id === id);
  if (at === -1) return 0;
  const places = new Map(entries.map((entry, index) => [entry.id, index]));
  const next = before.slice(at + 1).find((entry) => places.has(entry.id));
  return (next && places.get(next.id)) ?? Math.min(at, entries.length - 1);
}

/** Gives an entry the focus, unless somebody types a name. @returns whether it is drawn */
function focus({ id }: Entry): boolean {
  const row = document.getElementById(elementIdOf(id));
  if (!isTyping(document.activeElement)) row?.focus({ preventScroll: true });
  return row !== null;
}

const isTyping = (target: EventTarget | null) => target instanceof HTMLInputElement && target.type !== 'checkbox';

/** Stands for any entry in a URL. */
const anyId = '00000000-0000-0000-0000-000000000000';

/** Makes the URLs of entries: the router works out one for all folders, and one for all files. */
function useHrefs(projectId: string, search: FilesSearch): (entry: Entry) => string {
  const router = useRouter();
  return useMemo(() => {
    const toHref = (kind: Entry['kind']) => router.buildLocation(toPlace(projectId, { kind, id: anyId })).href;
    const hrefs = { folder: toHref('folder'), file: toHref('file') };
    return ({ kind, id }) => hrefs[kind].replace(anyId, id);
    // The URLs of files keep the search and the view.
  }, [router, projectId, search]);
}

/** Moves the focus when the row or tile that had it is gone, so that the keys still work. @param shown what takes it away by changing */
function useKeptFocus(list: React.RefObject<HTMLElement | null>, shown: readonly unknown[], focus: () => void): void {
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
  }, shown);
}

/** The heads of the columns, and what each sorts by. */
export const heads = [
  { sort: 'name', label: text.files.name, className: '', isPath: false },
  { sort: undefined, label: text.files.where, className: 'cell-type', isPath: true },
  { sort: 'fileSize', label: text.files.size, className: 'cell-end', isPath: false },
  { sort: undefined, label: text.files.type, className: 'cell-type', isPath: false },
  { sort: 'createdAt', label: text.files.added, className: '', isPath: false },
] as const;

/** The heads of the columns, which sort. */
function Head({ search, onSort, hasPath }: Pick<FileListProps, 'search' | 'onSort'> & { hasPath: boolean }) {
  const order = search.order ?? 'asc';
  const OrderIcon = order === 'asc' ? ArrowUp : ArrowDown;
  return (
    <div className="thead" role="row" aria-rowindex={1}>
      <span className="cell-check" role="columnheader">
        <span className="sr">{text.files.selection}</span>
      </span>
      {heads
        .filter(({ isPath }) => hasPath || !isPath)
        .map(({ sort, label, className }) => {
          const isOn = sort !== undefined && (search.sort ?? 'name') === sort;
          const ariaSort = isOn ? (order === 'asc' ? 'ascending' : 'descending') : undefined;
          return (
            <span key={label} role="columnheader" className={className} aria-sort={ariaSort}>
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
