import { lazy, useState, useSyncExternalStore } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { readSession, type Session } from '../../queries.ts';
import { isSignedOut, signedInAgain, subscribe } from '../../signed-out.ts';
import { text } from '../../text/text.ts';
import { cancelAll } from '../uploads/uploads.ts';

const SignInForm = lazy(onceReachable(async () => ({ default: (await import('./sign-in-form.tsx')).SignInForm })));

/** Asks somebody whose session has ended to sign in where they are; all that waits for it goes on then. */
export function SessionEnded({ user: present }: { user: Session['user'] | undefined }) {
  const isOpen = useSyncExternalStore(subscribe, isSignedOut);
  // Whose it was; nobody is signed in now.
  const [user, setUser] = useState(present);
  if (present && !isOpen && present !== user) setUser(present);
  const { endedTitle, endedLead } = text.signIn;
  async function goOn() {
    const session = await readSession();
    if (user === undefined || session?.user.id === user.id) return signedInAgain();
    // What waits is another person's, and so is what this window shows.
    cancelAll();
    location.assign('/');
  }
  return (
    <Dialog open={isOpen} onClose={() => {}} isKept title={endedTitle} lead={endedLead}>
      <SignInForm onSignedIn={goOn} email={user?.email} returnTo={location.pathname + location.search} />
    </Dialog>
  );
}
