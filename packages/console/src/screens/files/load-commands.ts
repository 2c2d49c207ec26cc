import { toastError } from '../../components/toast.tsx';
import type { Entry } from './use-listing.ts';

/** What changes and downloads entries. It is not needed to show them. */
export const loadCommands = () => import('./commands.ts');

/** Hands one file, or a ZIP of several, to the browser's downloads. */
export const download = (projectId: string, entries: readonly Entry[]): Promise<unknown> =>
  loadCommands().then((commands) => commands.download(projectId, entries), toastError);
