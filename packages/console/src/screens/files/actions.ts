import { Code, Download, Eye, FolderInput, FolderOpen, Info, Link, PencilLine, Trash2 } from 'lucide-react';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { text } from '../../text/text.ts';
import { deleteKeys } from '../shell/shortcuts.ts';
import { type Chosen, mayDownload, toShared } from './chosen.ts';
import type { ListCommands } from './list-commands.ts';
import type { Entry } from './use-listing.ts';

type Actions = Record<string, MenuAction>;

/** What is done with one entry. */
function ofOne(entry: Entry, commands: ListCommands) {
  const { files, preview } = text;
  return {
    open: {
      label: files.open,
      icon: entry.kind === 'file' ? Eye : FolderOpen,
      shortcut: '↵',
      run: () => commands.open(entry),
    },
    copyId: { label: files.copyId[entry.kind], icon: Code, run: () => commands.copyId(entry) },
    details: { label: preview.details, icon: Info, shortcut: 'I', run: () => commands.showDetails(entry) },
    rename: {
      label: files.rename,
      icon: PencilLine,
      shortcut: 'F2',
      isNewGroup: true,
      run: () => commands.rename(entry),
    },
  } satisfies Actions;
}

/** What is done with any number of them. */
function ofMany(toChosen: () => Chosen, { download, share, move, remove }: ListCommands) {
  const { files, common } = text;
  return {
    download: { label: files.download, icon: Download, shortcut: '⇧D', run: () => download(toChosen()) },
    share: { label: files.copyLinks, icon: Link, shortcut: 'L', run: () => share(toChosen()) },
    move: { label: files.move, icon: FolderInput, shortcut: 'M', run: () => move(toChosen()) },
    remove: {
      label: common.delete,
      icon: Trash2,
      shortcut: deleteKeys.join(''),
      isBad: true,
      isNewGroup: true,
      run: () => remove(toChosen()),
    },
  } satisfies Actions;
}

/** The menu of an entry: by its button, and by right click. */
export function toActions(entry: Entry, commands: ListCommands, canChange: boolean): MenuAction[] {
  const isFile = entry.kind === 'file';
  const { open, copyId, details, rename } = ofOne(entry, commands);
  const { download, share, move, remove } = ofMany(() => commands.chosenWith(entry), commands);
  const shared = toShared(commands.chosenWith(entry));
  const shares =
    shared.length > 1 ? [share] : isFile && shared.length > 0 ? [{ ...share, label: text.files.copyLink }] : [];
  const ofFile = isFile ? [details] : [];
  if (!canChange) return [open, download, copyId, ...ofFile];
  return [open, download, ...shares, rename, move, copyId, ...ofFile, remove];
}

/** What is done with a selection: in the bar of phones, and in the menu that is in it, which only one entry has. */
export function toSelectionActions(chosen: Chosen, commands: ListCommands, canChange: boolean) {
  const { download, share, move, remove } = ofMany(() => chosen, commands);
  const bar: MenuAction[] = [
    ...(mayDownload(chosen) ? [download] : []),
    ...(canChange ? [move] : []),
    ...(canChange && toShared(chosen).length > 0 ? [{ ...share, label: text.links.title }] : []),
  ];
  const last = canChange ? remove : undefined;
  const [entry, ...others] = chosen.entries;
  if (!entry || others.length > 0 || chosen.select) return { bar, menu: [], last };
  const { open, details, rename } = ofOne(entry, commands);
  const isFile = entry.kind === 'file';
  return { bar, menu: [open, ...(canChange ? [rename] : []), ...(isFile ? [details] : [])], last };
}
