import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { CopyButton } from '../../components/copy-button.tsx';
import { text } from '../../text/text.ts';

/**
 * Pieces of code by name, one at a time: arrows, Home and End choose. The library's tabs would be 10 kB of the first load,
 * where an empty project shows how to upload from code.
 */
export function SnippetTabs({ snippets }: { snippets: Record<string, string> }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const names = Object.keys(snippets);
  const [at, setAt] = useState(0);
  const { keys } = text;
  const chosen = names[at] ?? '';
  const code = snippets[chosen] ?? '';
  function onKeyDown(event: KeyboardEvent) {
    const last = names.length - 1;
    const places: Record<string, number> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  }
  return (
    <>
      <div className="line">
        <div className="tabs grow" role="tablist" aria-label={keys.snippets} ref={list} onKeyDown={onKeyDown}>
          {names.map((name, index) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${index}`}
              aria-selected={index === at}
              aria-controls={`${id}-panel`}
              tabIndex={index === at ? 0 : -1}
              onClick={() => setAt(index)}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton value={code} label={keys.copySnippet(chosen)} hasWord />
      </div>
      <div className="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled by keyboard */}
        <pre role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`} tabIndex={0}>
          {code}
        </pre>
      </div>
    </>
  );
}
