import { Search } from 'lucide-react';
import { useState, useSyncExternalStore } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/text.ts';
import { toNameKey } from '../uploads/names.ts';
import '../../styles/screens/shortcuts.css';
import { Keys } from './keys.tsx';
import { closeOverlay } from './overlays.ts';
import { areLettersOn, fileShortcuts, globalShortcuts, type ShortcutGroup, setLetters } from './shortcuts.ts';

/** Columns, each with groups below one another. */
const columns: readonly (readonly ShortcutGroup[])[] = [
  globalShortcuts,
  fileShortcuts.slice(0, 2),
  fileShortcuts.slice(2),
];

/** All that can be done by keys. */
export function ShortcutList() {
  const [words, setWords] = useState('');
  const lettersOn = useSyncExternalStore(areLettersOn.subscribe, areLettersOn.read);
  const { shortcuts } = text;
  const shown = columns.map((groups) =>
    groups.map((group) => filter(group, words)).filter(({ shortcuts }) => shortcuts.length > 0),
  );
  const isEmpty = shown.every((groups) => groups.length === 0);
  return (
    <Dialog
      open
      width="x"
      isText
      onClose={closeOverlay}
      title={shortcuts.title}
      headEnd={
        <label className="input m soft">
          <Search className="i s" aria-hidden="true" />
          <input
            type="search"
            aria-label={shortcuts.find}
            placeholder={shortcuts.find}
            value={words}
            onChange={({ target }) => setWords(target.value)}
          />
        </label>
      }
      footer={
        <label className="line letters">
          <input type="checkbox" className="switch" checked={lettersOn} onChange={() => setLetters(!lettersOn)} />
          <span>{shortcuts.letters}</span>
          <span className="quiet only-wide">{shortcuts.lettersHint}</span>
        </label>
      }
    >
      {isEmpty && <p className="quiet">{shortcuts.none}</p>}
      <div className="scs">
        {shown.map((groups, column) => (
          <div key={columns[column]?.[0]?.title}>
            {groups.map((group) => (
              <section key={group.title} aria-label={group.title}>
                <h3>{group.title}</h3>
                {group.shortcuts.map(({ keys, label }) => (
                  <div key={label} className="sc">
                    <span>{label}</span>
                    <Keys keys={keys} />
                  </div>
                ))}
              </section>
            ))}
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function filter({ title, shortcuts }: ShortcutGroup, words: string): ShortcutGroup {
  const wanted = toNameKey(words.trim());
  return { title, shortcuts: shortcuts.filter(({ label }) => toNameKey(label).includes(wanted)) };
}
