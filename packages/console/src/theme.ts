import { createStore } from './store.ts';

export type Theme = 'light' | 'dark' | 'system';

const name = 'cadiz.theme';

const stored = localStorage.getItem(name);

/** What is chosen, which this browser keeps. */
export const theme = createStore<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

export const readTheme = (): Theme => theme.read();

export function setTheme(chosen: Theme): void {
  if (chosen === 'system') localStorage.removeItem(name);
  else localStorage.setItem(name, chosen);
  theme.set(chosen);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = readTheme();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
