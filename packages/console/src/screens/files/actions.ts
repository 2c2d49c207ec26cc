import { Download, FolderInput, FolderOpen, Info, Link, PencilLine, Trash2 } from 'lucide-react';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { text } from '../../text/text.ts';
import { deleteKeys } from '../shell/shortcuts.ts';
import type { ListCommands } from './list-commands.ts';
import type { Entry } from './use-listing.ts';

/** The menu of an entry: by its button, and by right click. */
export function toActions(entry: Entry, commands: ListCommands, canChange: boolean): MenuAction[] {
  const { files } = text;
  const withChosen = (run: ListCommands['move']) => () => run(commands.chosenWith(entry));
  const forAll: MenuAction[] = [
    { label: files.open, icon: FolderOpen, shortcut: '↵', run: () => commands.open(entry) },
    { label: files.download, icon: Download, shortcut: '⇧D', run: withChosen(commands.download) },
  ];
  const ofFile: MenuAction[] =
    entry.kind === 'file'
      ? [{ label: text.preview.details, icon: Info, shortcut: 'I', run: () => commands.showDetails(entry) }]
      : [];
  if (!canChange) return [...forAll, ...ofFile];
  if (entry.kind === 'file')
    forAll.push({ label: files.copyLink, icon: Link, shortcut: 'L', run: () => commands.share(entry) });
  return [
    ...forAll,
    { label: files.rename, icon: PencilLine, shortcut: 'F2', isNewGroup: true, run: () => commands.rename(entry) },
    { label: files.move, icon: FolderInput, shortcut: 'M', run: withChosen(commands.move) },
    ...ofFile,
    {
      label: text.common.delete,
      icon: Trash2,
      shortcut: deleteKeys.join(''),
      isBad: true,
      isNewGroup: true,
      run: withChosen(commands.remove),
    },
  ];
}
