import { useState } from 'react';
import type { Entry } from './use-listing.ts';

export interface Selection {
  ids: ReadonlySet<string>;
  /** Selects it alone. */
  only(id: string): void;
  /** Adds it, or takes it away. */
  toggle(id: string): void;
  /** Everything from the last one chosen to this. */
  extend(id: string): void;
  all(): void;
  clear(): void;
}

const none: ReadonlySet<string> = new Set();

/** Which entries of a listing are chosen. @param place what the listing shows: what is chosen in one stays there */
export function useSelection(entries: readonly Entry[], place: string): Selection {
  const [chosen, setChosen] = useState({ place, ids: none });
  const [anchor, setAnchor] = useState<string>();
  const ids = chosen.place === place ? chosen.ids : none;
  const setIds = (ids: ReadonlySet<string>) => setChosen({ place, ids });
  return {
    ids,
    only(id) {
      setIds(new Set([id]));
      setAnchor(id);
    },
    toggle(id) {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      setIds(next);
      setAnchor(id);
    },
    extend(id) {
      const at = entries.findIndex((entry) => entry.id === id);
      const from = Math.max(
        0,
        entries.findIndex((entry) => entry.id === anchor),
      );
      const range = entries.slice(Math.min(at, from), Math.max(at, from) + 1);
      setIds(new Set([...ids, ...range.map((entry) => entry.id)]));
    },
    all: () => setIds(new Set(entries.map(({ id }) => id))),
    clear: () => setIds(none),
  };
}
