import { Dialog as Base } from '@base-ui/react/dialog';
import { Search } from 'lucide-react';
import { type KeyboardEvent, type MouseEvent, useEffect, useId, useRef, useState } from 'react';
import { useOpener } from '../../components/use-opener.ts';
import { text } from '../../text/text.ts';
import { findPart, Marked } from '../files/marked.tsx';
import '../../styles/screens/palette.css';
import type { Here } from './here.ts';
import { Keys } from './keys.tsx';
import { closeOverlay, openOverlay } from './overlays.ts';
import { commandKey } from './shortcuts.ts';
import { type Command, useCommands } from './use-commands.tsx';

/** Finds files, does things and leads everywhere, by typing. */
export function Palette(here: Here) {
  const [typed, setTyped] = useState('');
  const [activeId, setActive] = useState<string>();
  const { groups, isPending } = useCommands(here, typed);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const focusOpener = useOpener();
  const commands = groups.flatMap((group) => group.commands);
  // By its id: what is found later comes before other commands, and the one that was gone to stays.
  const index = Math.max(
    0,
    commands.findIndex(({ id }) => id === activeId),
  );
  const current = commands[index];
  const idOf = (command: Command) => `${id}-${commands.indexOf(command)}`;
  const { palette } = text;
  const words = typed.trim();

  useEffect(() => {
    if (current) document.getElementById(idOf(current))?.scrollIntoView({ block: 'nearest' });
  });

  function run({ href, run }: Command, isInTab: boolean): void {
    closeOverlay();
    if (isInTab && href) window.open(href, '_blank');
    else run();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const { key } = event;
    const last = commands.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: index === last ? 0 : index + 1,
      ArrowUp: index === 0 ? last : index - 1,
      PageDown: Math.min(last, index + 8),
      PageUp: Math.max(0, index - 8),
    };
    const next = moves[key];
    if (next !== undefined) setActive(commands[next]?.id);
    else if (key === 'Enter' && !event.nativeEvent.isComposing && current) run(current, event.ctrlKey || event.metaKey);
    else if (key === '?' && typed === '') openOverlay('shortcuts');
    else return;
    event.preventDefault();
  }

  return (
    <Base.Root open onOpenChange={closeOverlay}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Viewport className="scrim plain top">
          <Base.Popup className="palette" initialFocus={field} finalFocus={focusOpener}>
            <Base.Title className="sr">{palette.title}</Base.Title>
            <label className="q">
              <Search className="i" aria-hidden="true" />
              <input
                ref={field}
                role="combobox"
                aria-expanded="true"
                aria-controls={id}
                aria-autocomplete="list"
                aria-activedescendant={current && idOf(current)}
                aria-label={palette.placeholder}
                placeholder={palette.placeholder}
                autoComplete="off"
                spellCheck={false}
                value={typed}
                onChange={({ target }) => {
                  setTyped(target.value);
                  setActive(undefined);
                }}
                onKeyDown={onKeyDown}
              />
              <kbd className="kbd">Esc</kbd>
            </label>
            <div id={id} className="found" role="listbox" aria-label={palette.results} aria-busy={isPending}>
              {groups.map(({ title, commands: some }) => (
                <fieldset key={title} className="grp" aria-label={title}>
                  <div className="cap" aria-hidden="true">
                    {title}
                  </div>
                  {some.map((command) => (
                    <Option
                      key={command.id}
                      id={idOf(command)}
                      command={command}
                      words={words}
                      isOn={command === current}
                      onEnter={() => setActive(command.id)}
                      onClick={({ ctrlKey, metaKey }) => run(command, ctrlKey || metaKey)}
                    />
                  ))}
                </fieldset>
              ))}
            </div>
            {commands.length === 0 && <p className="nothing">{!isPending && palette.none(words)}</p>}
            <div className="foot" aria-hidden="true">
              <span>
                <Keys keys={['↑', '↓']} /> {palette.move}
              </span>
              <span>
                <Keys keys={['↵']} /> {palette.open}
              </span>
              <span>
                <Keys keys={[commandKey, '↵']} /> {palette.openInTab}
              </span>
              <span className="grow" />
              <span>
                <Keys keys={['?']} /> {palette.allShortcuts}
              </span>
            </div>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

interface OptionProps {
  id: string;
  command: Command;
  words: string;
  isOn: boolean;
  onEnter: () => void;
  onClick: (event: MouseEvent) => void;
}

/** The field keeps the focus: keys act there. */
function Option({ id, command: { label, icon, tail, keys }, words, isOn, onEnter, onClick }: OptionProps) {
  return (
    <div
      id={id}
      className={`opt ${isOn ? 'is-on' : ''}`}
      role="option"
      tabIndex={-1}
      aria-selected={isOn}
      onPointerMove={onEnter}
      onClick={onClick}
      onKeyDown={undefined}
    >
      {icon}
      <bdi className="clip">
        <Marked text={label} {...findPart(label, words.split(/\s+/)[0] ?? '')} />
      </bdi>
      {keys ? <Keys keys={keys} /> : tail && <bdi className="tail cap clip">{tail}</bdi>}
    </div>
  );
}
