import { cancelAll } from './uploads/uploads.ts';

/** Somebody else is signed in now: what this window shows, and what waits or goes on in it, is another person's. */
export function beginAnew(): void {
  cancelAll();
  location.assign('/');
}
