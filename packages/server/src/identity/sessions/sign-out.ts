import type { Answer } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { endKeptSession } from './end-sessions.ts';

/** Ends the session of a browser. Succeeds even without one. */
export async function signOut(
  deps: Pick<Deps, 'db' | 'now' | 'accessChanges'>,
  { address, requestId, browser }: InBrowser<Visitor>,
): Promise<Keeping<Answer<'signOut'>>> {
  const { session: token } = browser.kept;
  const caller = token === undefined ? undefined : await findSessionCallerByToken(deps, token);
  if (caller) {
    await deps.db.transaction(async (trx) => {
      if (!(await endKeptSession(trx, token))) return;
      const by = { ...caller, address, requestId };
      await recordEvent(trx, deps.now(), { type: 'sign_out', projectId: null, by, subject: {} });
    });
    await deps.accessChanges.publish({ kind: 'sessions', id: caller.userId });
  }
  return { answer: { success: true }, keep: { session: null } };
}
