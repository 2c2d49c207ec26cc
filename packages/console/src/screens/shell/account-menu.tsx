import { Ellipsis } from 'lucide-react';
import { Menu } from '../../components/menu.tsx';
import { Avatar } from '../../components/parts.tsx';
import { useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useAccountActions } from './use-account-actions.ts';

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
    <Menu
      trigger={trigger}
      side={isSmall ? 'bottom' : 'top'}
      align={isSmall ? 'end' : 'start'}
      head={<div className="cap clip">{email}</div>}
      actions={useAccountActions()}
    />
  );
}
