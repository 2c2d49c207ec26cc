import { Download, FolderInput, FolderOpen, PencilLine, Trash2 } from 'lucide-react';
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
  if (!canChange) return forAll;
  return [
    ...forAll,
    { label: files.rename, icon: PencilLine, shortcut: 'F2', isNewGroup: true, run: () => commands.rename(entry) },
    { label: files.move, icon: FolderInput, shortcut: 'M', run: withChosen(commands.move) },
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
