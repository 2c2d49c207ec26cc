import { lazy, useState, useSyncExternalStore } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { onceReachable } from '../../once-reachable.ts';
import type { Session } from '../../queries.ts';
import { ended } from '../../signed-out.ts';
import { text } from '../../text/text.ts';
import { countUnderWay, present } from '../uploads/uploads.ts';

const SignInAgain = lazy(onceReachable(async () => ({ default: (await import('./sign-in-again.tsx')).SignInAgain })));

/** Asks somebody whose session has ended to sign in where they are; all that waits for it goes on then. */
export function SessionEnded({ user: present }: { user: Session['user'] | undefined }) {
  const isOpen = useSyncExternalStore(ended.subscribe, ended.read) !== undefined;
  // Whose it was; nobody is signed in now.
  const [user, setUser] = useState(present);
  if (present && !isOpen && present !== user) setUser(present);
  const { endedTitle } = text.signIn;
  // Whose it was is known.
  const toPassword = () => (user ? document.querySelector<HTMLElement>('.dialog [name="password"]') : null);
  return (
    <Dialog open={isOpen} onClose={() => {}} isKept title={endedTitle} lead={<Kept />} initialFocus={toPassword}>
      <SignInAgain user={user} />
    </Dialog>
  );
}

/** What waits for a session. */
function Kept() {
  return text.signIn.endedLead(countUnderWay(useSyncExternalStore(present.subscribe, present.read)));
}
