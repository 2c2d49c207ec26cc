import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api.ts';
import { toastError } from '../../components/toast.tsx';
import { cancelAll, countUnderWay, present } from '../uploads/uploads.ts';
import { openOverlay } from './overlays.ts';

/** How many uploads have not ended. */
export function countUploads(): number {
  const uploads = present.read();
  return countUnderWay(uploads) + uploads.preparing;
}

/** @returns what ends the session; it throws a CadizError if that is refused */
export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    const goOn = cancelAll();
    try {
      await call('signOut', {});
    } catch (error) {
      goOn();
      throw error;
    }
    await navigate({ to: '/sign-in' });
    // Nothing of the session is left in this window for whoever signs in next, and nothing of it goes on.
    location.reload();
  };
}

/** @returns what signs out, and asks first while something is being uploaded */
export function useSignOutAsking(): () => void {
  const signOut = useSignOut();
  return () => (countUploads() > 0 ? openOverlay('signOut') : void signOut().catch(toastError));
}
