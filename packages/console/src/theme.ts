import { keep, readKept } from './keep.ts';
import { createStore } from './store.ts';

export type Theme = 'light' | 'dark' | 'system';

const name = 'cadiz.theme';

const stored = readKept(name);

/** What is chosen, which this browser keeps. */
export const theme = createStore<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

export const readTheme = (): Theme => theme.read();

export function setTheme(chosen: Theme): void {
  keep(name, chosen === 'system' ? undefined : chosen);
  theme.set(chosen);
  applyTheme();
}

/** Shows the page in the theme that is chosen. */
export function applyTheme(): void {
  const chosen = readTheme();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
