import type { Text } from '../../text/text.ts';

/** A binding of the file browser, for a list of them. */
export interface Shortcut {
  /** Each as people read it; `Mod` is ⌘ on a Mac, and Ctrl elsewhere. */
  keys: readonly string[];
  label: (text: Text) => string;
}

/** What the keys do while files are looked at. */
export const shortcuts: readonly Shortcut[] = [
  { keys: ['↑', '↓'], label: ({ files }) => files.keys.step },
  { keys: ['←', '→'], label: ({ files }) => files.keys.stepGrid },
  { keys: ['PgUp', 'PgDn'], label: ({ files }) => files.keys.page },
  { keys: ['Home', 'End'], label: ({ files }) => files.keys.ends },
  { keys: ['Enter'], label: ({ files }) => files.open },
  { keys: ['Space', 'I'], label: ({ files }) => files.keys.preview },
  { keys: ['←', '→'], label: ({ files }) => files.keys.neighbours },
  { keys: ['X'], label: ({ files }) => files.keys.toggle },
  { keys: ['Shift+↑', 'Shift+↓'], label: ({ files }) => files.keys.range },
  { keys: ['Mod+A'], label: ({ files }) => files.keys.all },
  { keys: ['U'], label: ({ files }) => files.keys.upload },
  { keys: ['N'], label: ({ files }) => files.newFolder },
  { keys: ['F2'], label: ({ files }) => files.rename },
  { keys: ['M'], label: ({ files }) => files.move },
  { keys: ['Shift+D'], label: ({ files }) => files.download },
  { keys: ['Del'], label: ({ common }) => common.delete },
  { keys: ['/'], label: ({ files }) => files.search },
  { keys: ['V'], label: ({ files }) => files.keys.listOrGrid },
  { keys: ['Esc'], label: ({ files }) => files.keys.goBack },
];
