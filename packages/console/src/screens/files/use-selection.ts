import type { Selection } from '@cadiz/client';
import { useState } from 'react';
import { type Chosen, type Reach, toChosen } from './chosen.ts';
import type { FilesSearch } from './search.ts';
import type { Entry, Place } from './use-listing.ts';

/** Which entries of a listing are chosen: some, or all in its place but some. */
export interface EntrySelection {
  /** How many are chosen; null for more than are counted. */
  count: number | null;
  /** Whether everything in the place is chosen, also what has not been loaded. */
  isEverything: boolean;
  has(id: string): boolean;
  /** What commands are for. */
  chosen: Chosen;
  /** Selects it alone. */
  only(id: string): void;
  /** Adds it, or takes it away. */
  toggle(id: string): void;
  /** Everything from the last one chosen to this, in place of an earlier range. @param focused where it starts if nothing is chosen */
  extend(id: string, focused: string | undefined): void;
  /** All that have been loaded. */
  all(): void;
  /** All in the place; undefined where the service cannot select it, or nothing more is there. */
  everything: (() => void) | undefined;
  /** Where that is. */
  reach: Reach;
  clear(): void;
}

interface State {
  /** What the listing shows: what is chosen in one stays there. */
  place: string;
  /** Those that are chosen; with `isEverything`, those that are not. */
  ids: ReadonlySet<string>;
  isEverything: boolean;
}

/** Where a range starts, and what was chosen before it. */
interface RangeStart {
  id: string;
  others: ReadonlySet<string>;
}

const none: ReadonlySet<string> = new Set();

/** Everything that is shown, as the service selects it; undefined for a whole project, which it selects only by a search. */
function toWhole(
  folder: string | null,
  search: string | undefined,
  scope: FilesSearch['scope'],
): Selection | undefined {
  if (scope === undefined) return { folder, ...(search !== undefined && { search }) };
  return search === undefined ? undefined : { search };
}

/** @param total how many the listing has in all; null for more than are counted */
export function useSelection(
  entries: readonly Entry[],
  { folderId, search: { q, scope } }: Place,
  total: number | null | undefined,
): EntrySelection {
  const place = JSON.stringify([q, scope]);
  const [state, setState] = useState<State>({ place, ids: none, isEverything: false });
  const [start, setStart] = useState<RangeStart>();
  const { ids, isEverything } = state.place === place ? state : { ids: none, isEverything: false };
  const setIds = (ids: ReadonlySet<string>) => setState({ place, ids, isEverything: false });
  const has = (id: string) => ids.has(id) !== isEverything;
  const isMore = total === null || (total !== undefined && total > entries.length);
  const chosen = toChosen(ids.size === 0 && !isEverything ? [] : entries.filter(({ id }) => has(id)));
  const whole = toWhole(folderId, q, scope);
  if (isEverything && whole) {
    chosen.count = typeof total === 'number' ? total - ids.size : null;
    chosen.select = { ...whole, exceptIds: [...ids] };
  }
  return {
    count: chosen.count,
    isEverything,
    has,
    chosen,
    only(id) {
      setIds(new Set([id]));
      setStart({ id, others: none });
    },
    toggle(id) {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      // Once all are taken out again, nothing is chosen, not even what comes later.
      if (isEverything && next.size === total) setIds(none);
      else setState({ place, ids: next, isEverything });
      setStart({ id, others: isEverything ? none : next });
    },
    extend(id, focused = id) {
      const isGoingOn = start !== undefined && chosen.entries.length > 0 && entries.some((one) => one.id === start.id);
      const { id: from, others } = isGoingOn ? start : { id: focused, others: none };
      const ends = [from, id].map((end) => entries.findIndex((entry) => entry.id === end));
      const range = entries.slice(Math.min(...ends), Math.max(...ends) + 1);
      setIds(new Set([...others, ...range.map((entry) => entry.id)]));
      setStart({ id: from, others });
    },
    all: () => setIds(new Set(entries.map(({ id }) => id))),
    everything: isMore && whole && !isEverything ? () => setState({ place, ids: none, isEverything: true }) : undefined,
    reach: scope ?? 'folder',
    clear: () => setIds(none),
  };
}
