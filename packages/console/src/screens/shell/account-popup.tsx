import { MenuPopup, type MenuProps } from '../../components/menu-popup.tsx';
import { useAccountActions } from './use-account-actions.ts';

/** What the account menu opens: its actions and their pictures are loaded with it. */
export function AccountPopup(props: Omit<MenuProps, 'actions'>) {
  return <MenuPopup {...props} actions={useAccountActions()} />;
}
