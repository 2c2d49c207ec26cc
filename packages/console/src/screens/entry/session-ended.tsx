import { lazy, useSyncExternalStore } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { isSignedOut, signedInAgain, subscribe } from '../../signed-out.ts';
import { text } from '../../text/text.ts';

const SignInForm = lazy(async () => ({ default: (await import('./sign-in-form.tsx')).SignInForm }));

/** Asks somebody whose session has ended to sign in where they are; all that waits for it goes on then. */
export function SessionEnded({ email }: { email: string | undefined }) {
  const isOpen = useSyncExternalStore(subscribe, isSignedOut);
  const { endedTitle, endedLead } = text.signIn;
  return (
    <Dialog open={isOpen} onClose={() => {}} isKept title={endedTitle} lead={endedLead}>
      <SignInForm onSignedIn={signedInAgain} email={email} returnTo={location.pathname} />
    </Dialog>
  );
}
