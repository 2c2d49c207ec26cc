import { toastError } from '../../components/toast.tsx';
import { onceReachable } from '../../once-reachable.ts';
import type { Entry } from './use-listing.ts';

/** What changes and downloads entries. It is not needed to show them. */
export const loadCommands = onceReachable(() => import('./commands.ts'));

/** How long after a list is there its commands are loaded, in milliseconds. */
const aheadMilliseconds = 3000;

/** Loads them before they are needed: by then, there may be no network. @returns keeps it from that */
export function loadAhead(): () => void {
  const timer = setTimeout(() => {
    // Loaded again with the first command.
    loadCommands().catch(() => undefined);
  }, aheadMilliseconds);
  return () => clearTimeout(timer);
}

/** Hands one file, or a ZIP of several, to the browser's downloads. */
export const download = (projectId: string, entries: readonly Entry[]): Promise<unknown> =>
  loadCommands().then((commands) => commands.download(projectId, entries), toastError);
