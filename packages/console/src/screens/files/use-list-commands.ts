import { useMemo, useRef } from 'react';
import { toast } from '../../components/toast.tsx';
import { text } from '../../text/text.ts';
import { type Chosen, mayDownload, mostArchived, toChosen } from './chosen.ts';
import { elementIdOf } from './entry-parts.tsx';
import type { ListCommands, MenuPoint } from './list-commands.ts';
import { hasFocus } from './list-focus.ts';
import { download } from './load-commands.ts';
import type { FilesSearch } from './search.ts';
import { type Entry, readAhead, toLook } from './use-listing.ts';
import type { EntrySelection } from './use-selection.ts';

/** What commands look at, and change, when they run. */
interface Listed {
  projectId: string;
  search: FilesSearch;
  entries: readonly Entry[];
  /** The index of the entry that the keys are at. */
  current: number;
  selection: EntrySelection;
  onMove: (chosen: Chosen) => void;
  onRemove: (chosen: Chosen) => void;
  open: (entry: Entry) => void;
  loadMenu: () => void;
  goTo: (id: string, index: number) => void;
  /** Opens the field for a new name of this entry; undefined closes it. */
  rename: (id: string | undefined) => void;
  showMenu: (entry: Entry, point: MenuPoint) => void;
}

/** The commands of a list. They are made once, so that a change does not draw every row again. */
export function useListCommands(listed: Listed): ListCommands {
  const now = useRef(listed);
  now.current = listed;
  return useMemo(() => toCommands(() => now.current), []);
}

function toCommands(now: () => Listed): ListCommands {
  const commands: ListCommands = {
    open: (entry) => now().open(entry),
    press({ kind, id }) {
      const { projectId, search } = now();
      if (kind === 'folder') readAhead({ projectId, folderId: id, search: toLook(search) });
    },
    choose(entry, how) {
      const { selection, entries, current } = now();
      selection[how](entry.id, entries[current]?.id);
      commands.goTo(entry);
    },
    goTo(entry) {
      const index = now().entries.indexOf(entry);
      now().goTo(entry.id, index);
    },
    chosenWith: (entry) => (now().selection.has(entry.id) ? now().selection.chosen : toChosen([entry])),
    download(chosen) {
      if (mayDownload(chosen)) void download(now().projectId, chosen.entries);
      else void toast(text.files.tooManyToDownload(mostArchived));
    },
    move: (chosen) => now().onMove(chosen),
    remove: (chosen) => now().onRemove(chosen),
    rename: ({ id }) => now().rename(id),
    renamed(entry, step) {
      const { entries } = now();
      // Whoever has gone elsewhere meanwhile stays there.
      const isHere = hasFocus(entry);
      const next = isHere && step ? entries[entries.findIndex(({ id }) => id === entry.id) + step] : undefined;
      now().rename(next?.id);
      if (isHere && !next) showRow(entry);
    },
    loadMenu: () => now().loadMenu(),
    showMenu: (entry, point) => now().showMenu(entry, point),
  };
  return commands;
}

function showRow({ id }: Entry): void {
  requestAnimationFrame(() => document.getElementById(elementIdOf(id))?.focus({ preventScroll: true }));
}
