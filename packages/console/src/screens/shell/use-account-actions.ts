import { useNavigate } from '@tanstack/react-router';
import { BookOpen, CircleUser, Keyboard, Languages, LogOut, Moon, Sun, SunMoon } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { type Language, language, languages, setLanguage, text } from '../../text/text.ts';
import { setTheme, type Theme, theme } from '../../theme.ts';
import { openOverlay } from './overlays.ts';
import { useSignOutAsking } from './use-sign-out.ts';

export const themes: readonly Theme[] = ['system', 'light', 'dark'];
export const themeIcons = { system: SunMoon, light: Sun, dark: Moon };
const codes: readonly Language[] = ['en', 'de'];

/** What is for whoever is signed in, wherever they are. */
export function useAccountActions(): readonly MenuAction[] {
  const navigate = useNavigate();
  const chosen = useSyncExternalStore(theme.subscribe, theme.read);
  const signOut = useSignOutAsking();
  const { nav, shell, shortcuts } = text;
  return [
    { label: nav.account, icon: CircleUser, run: () => navigate({ to: '/account' }) },
    ...themes.map((one, index) => ({
      label: shell.appearances[one],
      icon: themeIcons[one],
      isNewGroup: index === 0,
      isOn: one === chosen,
      run: () => setTheme(one),
    })),
    ...codes.map((code, index) => ({
      label: languages[code],
      icon: Languages,
      isNewGroup: index === 0,
      isOn: code === language,
      run: () => setLanguage(code),
    })),
    {
      label: shortcuts.title,
      icon: Keyboard,
      shortcut: '?',
      isNewGroup: true,
      run: () => openOverlay('shortcuts'),
    },
    { label: nav.apiReference, icon: BookOpen, run: () => window.open('/docs', '_blank') },
    {
      label: nav.signOut,
      icon: LogOut,
      isNewGroup: true,
      run: signOut,
    },
  ];
}
