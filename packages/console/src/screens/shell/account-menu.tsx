import { Ellipsis } from 'lucide-react';
import { lazy } from 'react';
import { MenuButton } from '../../components/menu.tsx';
import { Avatar } from '../../components/parts.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';

const load = onceReachable(() => import('./account-popup.tsx'));
const AccountPopup = lazy(async () => ({ default: (await load()).AccountPopup }));

/** Who is signed in, and what is theirs. */
export function AccountMenu({ isSmall = false }: { isSmall?: boolean }) {
  const { name, email } = useUser();
  const trigger = isSmall ? (
    <button type="button" className="avatar-button">
      <Avatar name={name} size="l" />
      <span className="sr">{text.nav.account}</span>
    </button>
  ) : (
    <button type="button" className="me">
      <Avatar name={name} />
      <span className="clip med grow">{name}</span>
      <Ellipsis className="i s" aria-hidden="true" />
    </button>
  );
  return (
    <MenuButton trigger={trigger} load={load}>
      <AccountPopup
        trigger={trigger}
        side={isSmall ? 'bottom' : 'top'}
        align={isSmall ? 'end' : 'start'}
        head={<div className="cap clip">{email}</div>}
      />
    </MenuButton>
  );
}
