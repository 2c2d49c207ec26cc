import { useMemo, useRef } from 'react';
import { copyText } from '../../clipboard.ts';
import { toast } from '../../components/toast.tsx';
import { text } from '../../text/text.ts';
import { type Chosen, mayDownload, mostArchived, toChosen } from './chosen.ts';
import { elementIdOf } from './entry-parts.tsx';
import type { ListCommands } from './list-commands.ts';
import { download } from './load-commands.ts';
import type { FilesSearch } from './search.ts';
import { type Entry, readAhead, toLook } from './use-listing.ts';
import type { Renaming } from './use-renaming.ts';
import type { EntrySelection } from './use-selection.ts';

/** The list as the commands see it. */
interface CommandedList extends Pick<ListCommands, 'goTo' | 'loadMenu' | 'showMenu'> {
  projectId: string;
  entries: readonly Entry[];
  /** The index of the entry that the keys are at. */
  current: number;
  search: FilesSearch;
  selection: EntrySelection;
  renaming: Renaming;
  open: (entry: Entry, isAtDetails?: boolean) => void;
  onMove: (chosen: Chosen) => void;
  onRemove: (chosen: Chosen) => void;
  onShare: (chosen: Chosen) => void;
}

/** The commands of a list. They are made only once, so that a change does not draw every row again, and look at the list as it is then. */
export function useListCommands(list: CommandedList): ListCommands {
  const now = useRef(list);
  now.current = list;
  return useMemo(() => toCommands(() => now.current), []);
}

function toCommands(now: () => CommandedList): ListCommands {
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
    tap(entry) {
      if (now().selection.count === 0) commands.open(entry);
      else commands.choose(entry, 'toggle');
    },
    rest(entry) {
      if (!now().selection.has(entry.id)) commands.choose(entry, 'toggle');
    },
    goTo: (entry) => now().goTo(entry),
    chosenWith: (entry) => (now().selection.has(entry.id) ? now().selection.chosen : toChosen([entry])),
    download(chosen) {
      if (mayDownload(chosen)) void download(now().projectId, chosen.entries);
      else void toast(text.files.tooManyToDownload(mostArchived));
    },
    move: (chosen) => now().onMove(chosen),
    remove: (chosen) => now().onRemove(chosen),
    share: (chosen) => now().onShare(chosen),
    copyId({ kind, id }) {
      const { files, common } = text;
      copyText(id).then(
        () => toast(files.idCopied[kind]),
        () => toast(common.copyFailed),
      );
    },
    showDetails: (file) => now().open(file, true),
    rename: ({ id }) => now().renaming.rename(id),
    renamed(entry, step) {
      const { entries, renaming } = now();
      // If the focus has gone elsewhere meanwhile, it stays there.
      const isHere = hasFocus(entry);
      const next = isHere && step ? entries[entries.findIndex(({ id }) => id === entry.id) + step] : undefined;
      renaming.rename(next?.id);
      if (isHere && !next) showRow(entry);
    },
    loadMenu: () => now().loadMenu(),
    showMenu: (entry, point) => now().showMenu(entry, point),
  };
  return commands;
}

/** Whether the focus is at an entry, or nowhere. */
const hasFocus = ({ id }: Entry) =>
  document.activeElement === document.body ||
  document.getElementById(elementIdOf(id))?.contains(document.activeElement) === true;

const showRow = ({ id }: Entry) =>
  requestAnimationFrame(() => document.getElementById(elementIdOf(id))?.focus({ preventScroll: true }));
