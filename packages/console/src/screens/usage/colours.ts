import { useEffect, useState } from 'react';

/** Colours of the tokens, as a canvas understands them. */
const sources = {
  text: 'var(--text-3)',
  grid: 'var(--line-soft)',
  stored: 'var(--series-1)',
  storedFill: 'color-mix(in srgb, var(--series-1) 20%, transparent)',
  bars: 'color-mix(in srgb, var(--series-1) 55%, var(--sheet))',
  trash: 'var(--series-2)',
  limit: 'var(--series-3)',
} as const;
export type Colours = Record<keyof typeof sources, string>;

/** Where the system chooses the colours, only its own tell a series from the grid. */
const forced: Colours = {
  text: 'CanvasText',
  grid: 'Canvas',
  stored: 'CanvasText',
  storedFill: 'Canvas',
  bars: 'CanvasText',
  trash: 'GrayText',
  limit: 'LinkText',
};
const isForced = () => matchMedia('(forced-colors: active)').matches;

function read(): Colours {
  const entries = Object.entries(isForced() ? forced : sources).map(([name, value]) => {
    // A new element for each: in one that is used again, a colour can still be in transition from the one before.
    const probe = document.createElement('span');
    probe.style.color = value;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return [name, color];
  });
  return Object.fromEntries(entries) as Colours;
}

/** The colours of the theme that is on; new ones when it changes, by the reader or by the system. */
export function useColours(): Colours {
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)'];
    const lists = queries.map((query) => matchMedia(query));
    const change = () => setColours(read());
    for (const list of lists) list.addEventListener('change', change);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      for (const list of lists) list.removeEventListener('change', change);
      observer.disconnect();
    };
  }, []);
  return colours;
}
