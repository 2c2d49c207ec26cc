export type Theme = 'light' | 'dark' | 'system';

const name = 'cadiz.theme';

export function readTheme(): Theme {
  const stored = localStorage.getItem(name);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(name);
  else localStorage.setItem(name, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = readTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
