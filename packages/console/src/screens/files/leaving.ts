import { useMemo, useSyncExternalStore } from 'react';
import { createStore } from '../../store.ts';
import { toParent } from './chosen.ts';
import type { Entry, Loaded } from './use-listing.ts';

/** What commands take out of its place: it is gone at once, though the service lists it until it has answered. */
const leaving = createStore<readonly Entry[]>([]);

/** Shows entries no more where they are. @returns ends that: what the service then still lists is shown again */
export function hide(entries: readonly Entry[]): () => void {
  leaving.set([...leaving.read(), ...entries]);
  return () => leaving.set(leaving.read().filter((one) => !entries.includes(one)));
}

/** What stays of a listing, and how many that are. */
export function useStaying({ entries, gapAt }: Loaded, total: number | null | undefined) {
  const gone = useSyncExternalStore(leaving.subscribe, leaving.read);
  const staying = useMemo(() => {
    if (gone.length === 0) return { entries, gapAt };
    const left = new Map(gone.map((entry) => [entry.id, toParent(entry)]));
    // What has been moved is shown where it is now.
    const stays = (entry: Entry) => left.get(entry.id) !== toParent(entry);
    return {
      entries: entries.filter(stays),
      gapAt: gapAt === undefined ? undefined : entries.slice(0, gapAt).filter(stays).length,
    };
  }, [entries, gapAt, gone]);
  return { ...staying, total: total && total - (entries.length - staying.entries.length) };
}
