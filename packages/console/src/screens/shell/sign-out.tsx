import { FormDialog } from '../../components/form-dialog.tsx';
import { text } from '../../text/text.ts';
import { closeOverlay } from './overlays.ts';
import { countUploads, useSignOut } from './use-sign-out.ts';

/** Asks before somebody signs out while something is being uploaded. */
export function SignOut() {
  const signOut = useSignOut();
  const { shell, nav } = text;
  return (
    <FormDialog
      isDanger
      title={shell.signOutTitle}
      lead={shell.signOutLead(countUploads())}
      submit={nav.signOut}
      send={signOut}
      onClose={closeOverlay}
    />
  );
}
