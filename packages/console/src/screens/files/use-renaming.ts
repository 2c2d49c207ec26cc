import { useEffect, useMemo, useRef, useState } from 'react';
import type { FilesSearch } from './search.ts';
import type { Entry, Loaded } from './use-listing.ts';

/** Which name of a listing is edited. */
export interface Renaming {
  /** The entry's id. */
  id: string | undefined;
  /** Whether the listing no longer has the entry. */
  isGone: boolean;
  /** Edits the name of another entry, or of none. */
  rename(id: string | undefined): void;
}

/**
 * Keeps the entry whose name is edited where it is while others delete or move it: if the next row took its place in the middle of a
 * word, the rest of what is typed would act on that row.
 */
export function useRenaming(
  { entries, gapAt }: Loaded,
  { q, scope, sort, order }: FilesSearch,
): Loaded & { renaming: Renaming } {
  const place = JSON.stringify([q, scope, sort, order]);
  const [edited, setEdited] = useState<{ id: string; place: string }>();
  const id = edited?.id;
  const index = useMemo(() => (id === undefined ? -1 : entries.findIndex((entry) => entry.id === id)), [entries, id]);
  const last = useRef<{ entry: Entry; index: number }>(undefined);
  useEffect(() => {
    const entry = entries[index];
    if (entry) last.current = { entry, index };
  }, [entries, index]);
  // In another search or order, it is elsewhere, and not gone.
  const isGone = index < 0 && edited?.place === place && last.current?.entry.id === id;
  const loaded = useMemo(
    () => (isGone && last.current ? withEntry({ entries, gapAt }, last.current) : { entries, gapAt }),
    [isGone, entries, gapAt],
  );
  const rename = (next: string | undefined) => setEdited(next === undefined ? undefined : { id: next, place });
  return { ...loaded, renaming: { id, isGone, rename } };
}

function withEntry({ entries, gapAt }: Loaded, { entry, index }: { entry: Entry; index: number }): Loaded {
  const at = Math.min(index, entries.length);
  return {
    entries: entries.toSpliced(at, 0, entry),
    gapAt: gapAt !== undefined && at <= gapAt ? gapAt + 1 : gapAt,
  };
}
