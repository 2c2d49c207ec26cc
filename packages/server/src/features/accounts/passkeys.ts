import type { Passkey, PasskeyOptions, RegisterPasskeyRequest, SignInWithPasskeyRequest } from '@cadiz/contract';
import pg from 'pg';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import type { Database } from '../../db/open.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { type AccountAnswer, type Answered, type Auth, answer, callAuth, toCookies } from './auth.ts';
import { endMade } from './end-sessions.ts';
import { anywhere, type SignInLimits } from './sign-in-limits.ts';

/** Signing in by WebAuthn. Better Auth does the ceremonies; a passkey always verifies its user, so it is both factors. */
export interface Passkeys {
  /** For `navigator.credentials.create`, in a session of the last hour. @throws Problem session_not_fresh */
  registrationOptions(headers: Headers): Promise<Answered<z.output<typeof PasskeyOptions>>>;
  /** @throws Problem passkey_expired, passkey_refused, session_not_fresh */
  register(
    headers: Headers,
    caller: SessionCaller,
    request: z.output<typeof RegisterPasskeyRequest>,
  ): Promise<z.output<typeof Passkey>>;
  /** For `navigator.credentials.get`. @throws Problem too_many_attempts */
  signInOptions(headers: Headers, address: string): Promise<Answered<z.output<typeof PasskeyOptions>>>;
  /** @throws Problem passkey_expired, passkey_refused, account_disabled, too_many_attempts */
  signIn(headers: Headers, request: z.output<typeof SignInWithPasskeyRequest>, address: string): Promise<AccountAnswer>;
  list(caller: SessionCaller): Promise<z.output<typeof Passkey>[]>;
  /** @throws Problem passkey_not_found */
  rename(caller: SessionCaller, request: { id: string; name: string }): Promise<z.output<typeof Passkey>>;
  /** @throws Problem passkey_not_found */
  remove(caller: SessionCaller, id: string): Promise<void>;
}

interface Tools {
  limits: SignInLimits;
  db: Database;
  now: () => number;
  /** Ends the session that a request has before it gets another one. */
  endPresent(headers: Headers): Promise<void>;
}

/** What it takes is what the contract has checked. */
type Assertion = NonNullable<Parameters<Auth['api']['verifyPasskeyAuthentication']>[0]>['body'];

export function createPasskeys(auth: Auth, { limits, db, now, endPresent }: Tools): Passkeys {
  const { kysely } = db;

  /** A passkey that is removed meanwhile signs nobody in: who removes it ends the sessions that there are, and this one came after. */
  async function signInWith(call: Parameters<typeof answer>[0], credentialId: string): Promise<AccountAnswer> {
    const made = await answer(call);
    const query = kysely.selectFrom('passkeys').select('id').where('credential_id', '=', credentialId).forShare();
    if (await query.executeTakeFirst()) return made;
    await endMade(kysely, made.cookies);
    throw new Problem('passkey_refused');
  }

  return {
    async registrationOptions(headers) {
      const { response, headers: answered } = await callAuth(() =>
        auth.api.generatePasskeyRegistrationOptions({ headers, returnHeaders: true }),
      );
      return { body: { ...response }, cookies: toCookies(answered) };
    },
    async register(headers, caller, body) {
      const call = () => auth.api.verifyPasskeyRegistration({ headers, body });
      const made = await verify(() => callAuth(call)).catch((error: unknown) => {
        const isKnown = error instanceof pg.DatabaseError && error.code === uniqueViolation;
        throw isKnown ? new Problem('passkey_refused', 'This passkey is registered already.') : error;
      });
      // A password that is reset meanwhile removes the passkeys that there are, and this one came after.
      await requireLastingSession(kysely, caller).catch(async (error: unknown) => {
        await kysely.deleteFrom('passkeys').where('id', '=', made.id).execute();
        throw error;
      });
      const subject = { userId: caller.userId, passkeyId: made.id };
      await recordEvent(kysely, now(), { type: 'passkey.added', projectId: null, by: caller, subject });
      return findPasskey(db, caller, made.id);
    },
    async signInOptions(headers, address) {
      await limits.countQuestion(address);
      const { response, headers: answered } = await callAuth(() =>
        auth.api.generatePasskeyAuthenticationOptions({ headers, returnHeaders: true }),
      );
      // Better Auth has no option for it; without it the passkey is refused below.
      return { body: { ...response, userVerification: 'required' }, cookies: toCookies(answered) };
    },
    async signIn(headers, body, address) {
      await limits.countAddress(address);
      const call = () =>
        auth.api.verifyPasskeyAuthentication({ headers, body: body as Assertion, returnHeaders: true });
      const made = await verify(() => signInWith(call, body.response.id)).catch(async (error: unknown) => {
        if (error instanceof Problem && error.code === 'passkey_refused') {
          const by = { kind: 'nobody', address } as const;
          const subject = { method: 'passkey' };
          await recordEvent(kysely, now(), { type: 'sign_in.failed', projectId: null, by, subject });
        }
        throw error;
      });
      await endPresent(headers);
      // Better Auth answers the whole row here.
      const { disabledAt: _, ...user } = (made.body as { user: { id: string; email: string; disabledAt: unknown } })
        .user;
      await limits.forgiveAddress(address);
      await limits.forgiveAccount(user.email, anywhere);
      const by = { kind: 'session', userId: user.id, address } as const;
      const subject = { method: 'passkey' };
      await recordEvent(kysely, now(), { type: 'sign_in.succeeded', projectId: null, by, subject });
      return { ...made, body: { user } };
    },
    async list({ userId }) {
      const rows = await kysely
        .selectFrom('passkeys')
        .select(columns)
        .where('user_id', '=', userId)
        .orderBy('id')
        .execute();
      return rows.map(toView);
    },
    async rename(caller, { id, name }) {
      await kysely
        .updateTable('passkeys')
        .set({ name })
        .where('id', '=', id)
        .where('user_id', '=', caller.userId)
        .execute();
      return findPasskey(db, caller, id);
    },
    async remove(caller, id) {
      const { userId } = caller;
      await db.transaction(async (trx) => {
        const { numDeletedRows } = await trx
          .deleteFrom('passkeys')
          .where('id', '=', id)
          .where('user_id', '=', userId)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw new Problem('passkey_not_found');
        const subject = { userId, passkeyId: id };
        await recordEvent(trx, now(), { type: 'passkey.removed', projectId: null, by: caller, subject });
      });
    },
  };
}

const uniqueViolation = '23505';

/**
 * Better Auth binds the signature of a cookie to no name: the cookie of another question names a row that is none of a
 * passkey's, whose value is no JSON.
 * @throws Problem passkey_expired
 */
function verify<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw error instanceof SyntaxError ? new Problem('passkey_expired') : error;
  });
}

const columns = ['id', 'name', 'created_at', 'backed_up'] as const;

/** Somebody else's and absent ones are one answer. @throws Problem passkey_not_found */
async function findPasskey({ kysely }: Database, { userId }: SessionCaller, id: string) {
  const query = kysely.selectFrom('passkeys').select(columns).where('id', '=', id).where('user_id', '=', userId);
  const row = await query.executeTakeFirst();
  if (!row) throw new Problem('passkey_not_found');
  return toView(row);
}

function toView(row: {
  id: string;
  name: string | null;
  created_at: Date;
  backed_up: boolean;
}): z.output<typeof Passkey> {
  return { id: row.id, name: row.name, createdAt: row.created_at.toISOString(), backedUp: row.backed_up };
}
