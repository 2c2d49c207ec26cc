import { useEffect } from 'react';
import { readSession, type Session, windows } from '../../queries.ts';
import { signedInAgain } from '../../signed-out.ts';
import { cancelAll } from '../uploads/uploads.ts';
import { SignInForm } from './sign-in-form.tsx';

interface SignInAgainProps {
  /** Whose session has ended; undefined if that is not known. */
  user: Session['user'] | undefined;
}

export function SignInAgain({ user }: SignInAgainProps) {
  useEffect(() => {
    // Another window may have signed somebody in.
    const look = async () => {
      const session = await readSession().catch(() => null);
      if (session) goOn(session, user);
    };
    // Both may be in sight. That nobody is signed in is no news.
    const hear = ({ data: id }: MessageEvent) => void (id !== null && look());
    window.addEventListener('visibilitychange', look);
    windows.addEventListener('message', hear);
    return () => {
      window.removeEventListener('visibilitychange', look);
      windows.removeEventListener('message', hear);
    };
  }, [user]);
  const enter = async () => goOn(await readSession(), user);
  return <SignInForm onSignedIn={enter} user={user} returnTo={location.pathname + location.search} />;
}

function goOn(session: Session | null, user: Session['user'] | undefined): void {
  if (user === undefined || session?.user.id === user.id) {
    signedInAgain();
  } else {
    // What waits, and what this window shows, belongs to another person.
    cancelAll();
    location.assign('/');
  }
}
