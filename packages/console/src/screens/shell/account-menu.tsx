import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { BookOpen, CircleUser, Ellipsis, Languages, LogOut, Moon, Sun, SunMoon } from 'lucide-react';
import { call } from '../../api.ts';
import { Menu } from '../../components/menu.tsx';
import { Avatar } from '../../components/parts.tsx';
import { toastError } from '../../components/toast.tsx';
import { queryClient, useUser } from '../../queries.ts';
import { language, languages, setLanguage, text } from '../../text/text.ts';
import { readTheme, setTheme, type Theme } from '../../theme.ts';

const themes: readonly Theme[] = ['system', 'light', 'dark'];
const themeIcons = { system: SunMoon, light: Sun, dark: Moon };

/** Who is signed in, and what is theirs. */
export function AccountMenu({ isSmall = false }: { isSmall?: boolean }) {
  const { name, email } = useUser();
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: () => call('signOut', {}),
    onError: toastError,
    onSuccess: async () => {
      await navigate({ to: '/sign-in' });
      queryClient.clear();
    },
  });
  const { nav } = text;
  const otherLanguage = language === 'en' ? 'de' : 'en';
  const nextTheme = themes[(themes.indexOf(readTheme()) + 1) % themes.length] ?? 'system';
  const trigger = isSmall ? (
    <button type="button" className="avatar-button" aria-label={nav.account}>
      <Avatar name={name} size="l" />
    </button>
  ) : (
    <button type="button" className="me">
      <Avatar name={name} />
      <span className="clip med grow">{name}</span>
      <Ellipsis className="i s" aria-hidden="true" />
    </button>
  );
  return (
    <Menu
      trigger={trigger}
      side={isSmall ? 'bottom' : 'top'}
      align={isSmall ? 'end' : 'start'}
      head={<div className="cap clip">{email}</div>}
      actions={[
        { label: nav.account, icon: CircleUser, run: () => navigate({ to: '/account' }) },
        {
          label: `${nav.appearance}: ${nav[nextTheme]}`,
          icon: themeIcons[nextTheme],
          run: () => setTheme(nextTheme),
        },
        { label: languages[otherLanguage], icon: Languages, run: () => setLanguage(otherLanguage) },
        { label: nav.apiReference, icon: BookOpen, run: () => window.open('/docs', '_blank') },
        { label: nav.signOut, icon: LogOut, isNewGroup: true, run: () => signOut.mutate() },
      ]}
    />
  );
}
