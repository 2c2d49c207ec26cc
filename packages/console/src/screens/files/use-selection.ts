import { useState } from 'react';
import { type Chosen, toChosen } from './commands.ts';
import type { Entry, Place } from './use-listing.ts';

/** Which entries of a listing are chosen: some, or all in its place but some. */
export interface Selection {
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
  /** Everything from the last one chosen to this. */
  extend(id: string): void;
  /** All that have been loaded. */
  all(): void;
  /** All in the place; undefined where the service cannot select them, or nothing more is there. */
  everything: (() => void) | undefined;
  clear(): void;
}

interface State {
  /** What the listing shows: what is chosen in one stays there. */
  place: string;
  /** Those that are chosen; with `isEverything`, those that are not. */
  ids: ReadonlySet<string>;
  isEverything: boolean;
}

const none: ReadonlySet<string> = new Set();

/** @param total how many the listing has in all; null for more than are counted */
export function useSelection(
  entries: readonly Entry[],
  { folderId, search: { q, scope } }: Place,
  total: number | null | undefined,
): Selection {
  const place = `${q} ${scope}`;
  const [state, setState] = useState<State>({ place, ids: none, isEverything: false });
  const [anchor, setAnchor] = useState<string>();
  const { ids, isEverything } = state.place === place ? state : { ids: none, isEverything: false };
  const setIds = (ids: ReadonlySet<string>) => setState({ place, ids, isEverything: false });
  const has = (id: string) => ids.has(id) !== isEverything;
  const isMore = total === null || (total !== undefined && total > entries.length);
  const chosen = toChosen(entries.filter(({ id }) => has(id)));
  if (isEverything) {
    chosen.count = typeof total === 'number' ? total - ids.size : null;
    chosen.select = { folder: folderId, ...(q !== undefined && { search: q }), exceptIds: [...ids] };
  }
  return {
    count: chosen.count,
    isEverything,
    has,
    chosen,
    only(id) {
      setIds(new Set([id]));
      setAnchor(id);
    },
    toggle(id) {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      setState({ place, ids: next, isEverything });
      setAnchor(id);
    },
    extend(id) {
      const at = entries.findIndex((entry) => entry.id === id);
      const from = Math.max(
        0,
        entries.findIndex((entry) => entry.id === anchor),
      );
      const range = entries.slice(Math.min(at, from), Math.max(at, from) + 1);
      setIds(new Set([...(isEverything ? none : ids), ...range.map((entry) => entry.id)]));
    },
    all: () => setIds(new Set(entries.map(({ id }) => id))),
    everything:
      isMore && scope === undefined && !isEverything
        ? () => setState({ place, ids: none, isEverything: true })
        : undefined,
    clear: () => setIds(none),
  };
}
