import { keep, readKept } from '../../keep.ts';
import { createStore } from '../../store.ts';
import { text } from '../../text/text.ts';

/** What can be done by keys, as the list of shortcuts shows it. */
export interface Shortcut {
  /** As they are written on the keys. */
  keys: readonly string[];
  label: string;
}

export interface ShortcutGroup {
  title: string;
  shortcuts: readonly Shortcut[];
}

/** The key that goes with letters: it is another on Apple's keyboards. */
export const commandKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

/** What deletes: Apple's small keyboards have no key for that alone. */
export const deleteKeys = commandKey === '⌘' ? ['⌘', '⌫'] : ['Del'];

const { shortcuts: words, nav } = text;

export const globalShortcuts: readonly ShortcutGroup[] = [
  {
    title: words.anywhere,
    shortcuts: [
      { keys: [commandKey, 'K'], label: words.palette },
      { keys: ['?'], label: words.list },
      { keys: ['U'], label: words.upload },
      { keys: ['⇧', 'U'], label: words.tray },
      { keys: [commandKey, 'Z'], label: words.undo },
      { keys: ['Esc'], label: words.back },
    ],
  },
  {
    title: words.goTo,
    shortcuts: [
      { keys: ['G', 'F'], label: nav.files },
      { keys: ['G', 'T'], label: nav.trash },
      { keys: ['G', 'U'], label: nav.usage },
      { keys: ['G', 'K'], label: nav.keys },
      { keys: ['G', 'P'], label: words.anotherProject },
    ],
  },
];

/** Those of the file browser. */
export const fileShortcuts: readonly ShortcutGroup[] = [
  {
    title: words.inList,
    shortcuts: [
      { keys: ['↑', '↓'], label: words.moveFocus },
      { keys: ['PgDn', 'Home', 'End'], label: words.pages },
      { keys: ['↵'], label: words.open },
      { keys: [commandKey, '↑'], label: words.up },
      { keys: ['Space'], label: words.preview },
      { keys: ['I'], label: text.preview.details },
      { keys: ['L'], label: text.links.title },
      { keys: ['/'], label: words.search },
      { keys: ['V'], label: words.view },
      { keys: ['N'], label: words.newFolder },
      { keys: [commandKey, 'V'], label: words.paste },
    ],
  },
  {
    title: words.select,
    shortcuts: [
      { keys: ['X'], label: words.selectOne },
      { keys: ['⇧', '↑', '↓'], label: words.selectRange },
      { keys: [commandKey, 'A'], label: words.selectAll },
    ],
  },
  {
    title: words.withSelection,
    shortcuts: [
      { keys: ['F2'], label: words.rename },
      { keys: ['M'], label: words.moveTo },
      { keys: ['⇧', 'D'], label: words.download },
      { keys: deleteKeys, label: words.delete },
    ],
  },
  {
    title: words.inPreview,
    shortcuts: [
      { keys: ['←', '→'], label: words.neighbours },
      { keys: ['I'], label: text.preview.details },
    ],
  },
];

const item = 'cadiz.letters';

/** Whether single letters do something; they can get in the way of voice control and screen readers. */
export const areLettersOn = createStore(readKept(item) !== 'off');

/** Keeps the choice in this browser. */
export function setLetters(on: boolean): void {
  keep(item, on ? undefined : 'off');
  areLettersOn.set(on);
}
