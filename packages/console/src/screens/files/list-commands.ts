import type { Chosen } from './chosen.ts';
import type { Entry } from './use-listing.ts';

/** A point of the window, and which side of a menu stands at it. */
export interface MenuPoint {
  x: number;
  y: number;
  align: 'start' | 'end';
}

/** What rows and tiles ask of their list. It stays the same object, so that they are not drawn again without need. */
export interface ListCommands {
  /** Opens a folder, or the preview of a file. */
  open(entry: Entry): void;
  /** Called when the button goes down on an entry: by the time it is up again, a folder may have been read. */
  press(entry: Entry): void;
  choose(entry: Entry, how: 'only' | 'toggle' | 'extend'): void;
  /** What a tap does: it opens an entry, or chooses it as well where something is chosen already. */
  tap(entry: Entry): void;
  /** What resting a finger does: it chooses the entry as well. */
  rest(entry: Entry): void;
  /** The arrow keys go on from this entry. */
  goTo(entry: Entry): void;
  /** What a command on an entry is for: the selection if the entry is part of it, otherwise the entry alone. */
  chosenWith(entry: Entry): Chosen;
  download(chosen: Chosen): void;
  move(chosen: Chosen): void;
  remove(chosen: Chosen): void;
  /** Shows the links of a file, and offers another; offers one for each of several. */
  share(chosen: Chosen): void;
  /** Copies the ID, as programs need it. */
  copyId(entry: Entry): void;
  /** Opens the preview of a file at its details. */
  showDetails(file: Entry): void;
  /** Opens the field for a new name. */
  rename(entry: Entry): void;
  /** The field is done with; with a step, the name of the next or previous entry is edited. */
  renamed(entry: Entry, step?: 1 | -1): void;
  /** Loads what is needed for menus, and for a selection on a phone, which somebody is about to open or begin. */
  loadMenu(): void;
  /** Opens the menu of an entry at a point of the window. */
  showMenu(entry: Entry, point: MenuPoint): void;
}
