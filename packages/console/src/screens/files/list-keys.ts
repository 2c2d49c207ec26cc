import type { KeyboardEvent } from 'react';
import { toChosen } from './chosen.ts';
import { elementIdOf } from './entry-parts.tsx';
import type { ListCommands } from './list-commands.ts';
import type { Entry } from './use-listing.ts';
import type { EntrySelection } from './use-selection.ts';

/** What the keys of a list act on. */
interface Keyed {
  /** The entry that they are at, and its index. */
  entry: Entry;
  current: number;
  /** How many entries there are, and the index of the first one after what has not been loaded. */
  count: number;
  gapAt: number;
  columns: number;
  /** How many lines are in sight. */
  linesInSight: number;
  isGrid: boolean;
  selection: EntrySelection;
  canChange: boolean;
  commands: ListCommands;
  go: (to: number, isExtending: boolean) => void;
}

/** What a key does, if it is one of the list's. */
export function toCommand(event: KeyboardEvent, keyed: Keyed): (() => void) | undefined {
  const { entry, selection, canChange, commands } = keyed;
  const { key } = event;
  // Such as the key that goes back.
  if (event.altKey) return undefined;
  const chosen = selection.count === 0 ? toChosen([entry]) : selection.chosen;
  const removeThem = canChange ? () => commands.remove(chosen) : undefined;
  if (event.metaKey || event.ctrlKey) return { a: selection.all, Backspace: removeThem }[key];
  const to = findTarget(key, keyed);
  if (to !== undefined) return () => keyed.go(to, event.shiftKey);
  // Not at the box or the menu of an entry, which have their own.
  const isAtEntry = event.target instanceof Element && event.target.matches(`[id^=${elementIdOf('')}], .open`);
  const open = () => commands.open(entry);
  const preview = isAtEntry && entry.kind === 'file' ? open : undefined;
  const forAll: Record<string, (() => void) | undefined> = {
    Enter: isAtEntry ? open : undefined,
    ' ': preview,
    i: preview,
    x: () => selection.toggle(entry.id),
    D: () => commands.download(chosen),
    Escape: selection.count === 0 ? undefined : selection.clear,
  };
  const forEditors: Record<string, () => void> = {
    F2: () => commands.rename(entry),
    m: () => commands.move(chosen),
    Delete: () => commands.remove(chosen),
  };
  return forAll[key] ?? (canChange ? forEditors[key] : undefined);
}

/** The index that a key goes to; undefined if it is none that goes anywhere. */
function findTarget(key: string, { current, count, gapAt, columns, linesInSight, isGrid }: Keyed): number | undefined {
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const page = Math.max(1, linesInSight - 1) * columns;
  const steps: Record<string, number> = {
    ArrowDown: columns,
    ArrowUp: -columns,
    PageDown: page,
    PageUp: -page,
    ...(isGrid && { ArrowRight: 1, ArrowLeft: -1 }),
  };
  const step = steps[key];
  if (step === undefined) return undefined;
  // Steps do not leave out what has not been loaded: they wait before it.
  const [from, to] = current < gapAt ? [0, gapAt] : [gapAt, count];
  return Math.max(from, Math.min(to - 1, current + step));
}
