import type { BackupCodes, SecondFactorDisabled, SecondFactorSecrets } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Database } from '../../db/open.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { type AccountAnswer, type Answered, type Auth, answer, callAuth, toCookies } from './auth.ts';
import { endMade } from './end-sessions.ts';
import { findVantage, type KnownDevices } from './known-devices.ts';
import { lockAccount } from './lock-account.ts';
import type { Passwords } from './password.ts';
import { findPasswordHash, findSettledPasswordHash } from './password-hash.ts';
import { requireEnabled } from './require-enabled.ts';
import { fromSession, type SignInLimits } from './sign-in-limits.ts';

/**
 * A second factor by time-based codes (RFC 6238), for accounts with a password that want one. Better Auth keeps the
 * secrets, encrypted, and asks for a code after the password; that each code counts once is added here.
 */
export interface SecondFactor {
  /** A secret and backup codes, which count once a code was right. @throws Problem sign_in_method_off, second_factor_set_up, wrong_password */
  enable(
    headers: Headers,
    caller: SessionCaller,
    password: string,
  ): Promise<Answered<z.output<typeof SecondFactorSecrets>>>;
  /**
   * The code that finishes a sign-in, or, when somebody is signed in, the first one of a new secret.
   * @throws Problem invalid_second_factor, second_factor_expired, second_factor_locked, second_factor_not_set_up,
   *   second_factor_set_up, account_disabled, too_many_attempts
   */
  verify(headers: Headers, code: string, address: string): Promise<AccountAnswer>;
  /** A backup code, which finishes a sign-in, once. @throws Problem as verify */
  verifyBackupCode(headers: Headers, code: string, address: string): Promise<AccountAnswer>;
  /**
   * New backup codes in place of all others. They can take the second factor away, so they need as much as that does.
   * @throws Problem second_factor_not_set_up, wrong_password, invalid_second_factor
   */
  renewBackupCodes(
    headers: Headers,
    caller: SessionCaller,
    proof: PasswordAndCode,
  ): Promise<z.output<typeof BackupCodes>>;
  /** @throws Problem second_factor_not_set_up, wrong_password, invalid_second_factor */
  disable(
    headers: Headers,
    caller: SessionCaller,
    proof: PasswordAndCode,
  ): Promise<Answered<z.output<typeof SecondFactorDisabled>>>;
}

interface PasswordAndCode {
  password: string;
  /** Of the app, or a backup code. */
  code: string;
}

interface Tools {
  /** Whether an account can get a second factor; who has one needs it in any case. */
  isOn: boolean;
  passwords: Passwords;
  limits: SignInLimits;
  devices: KnownDevices;
  db: Database;
  now: () => number;
}

export function createSecondFactor(auth: Auth, { isOn, passwords, limits, devices, db, now }: Tools): SecondFactor {
  async function requireEmail(userId: string): Promise<string> {
    const query = db.kysely.selectFrom('users').select('email').where('id', '=', userId);
    return (await query.executeTakeFirstOrThrow()).email;
  }

  /** Work that asks for the password of who is signed in: guessing it is limited as at sign-in, apart from what strangers try. */
  async function withPassword<T>({ userId }: SessionCaller, work: () => Promise<T>): Promise<T> {
    const email = await requireEmail(userId);
    const made = await passwords.withCapacity(async () => {
      await limits.countAccount(email, fromSession);
      return work();
    });
    await limits.forgiveAccount(email, fromSession);
    return made;
  }

  const find = (headers: Headers) => callAuth(() => auth.api.findSecondFactor({ headers }));

  async function requireSetUp(headers: Headers): Promise<void> {
    const found = await find(headers);
    if (!found?.isVerified) throw new Problem('second_factor_not_set_up');
  }

  /**
   * Work that makes a session, which counts only if the password has not been changed meanwhile.
   * @param undo takes back what else it has made
   * @throws Problem code
   */
  async function underOnePassword<T extends { cookies: string[] }>(
    userId: string,
    code: 'second_factor_expired' | 'session_required',
    work: () => Promise<T>,
    undo: () => Promise<void> = async () => undefined,
  ): Promise<T> {
    const email = await requireEmail(userId);
    const before = await findPasswordHash(db, email);
    const made = await work();
    if ((await findSettledPasswordHash(db, email)) === before) return made;
    await endMade(db.kysely, made.cookies);
    await undo();
    throw new Problem(code);
  }

  /** Finishes a sign-in, and writes down how it went. */
  async function finish(
    headers: Headers,
    userId: string,
    address: string,
    method: 'totp' | 'backup_code',
    call: () => Promise<AccountAnswer>,
  ): Promise<AccountAnswer> {
    await requireEnabled(db, userId);
    const made = await underOnePassword(userId, 'second_factor_expired', call).catch(async (error: unknown) => {
      if (error instanceof Problem) {
        const by = { kind: 'nobody', address } as const;
        await recordEvent(db.kysely, now(), {
          type: 'sign_in.failed',
          projectId: null,
          by,
          subject: { userId, method },
        });
      }
      throw error;
    });
    const email = await requireEmail(userId);
    await limits.forgiveAddress(address);
    await limits.forgiveAccount(email, await findVantage(devices, headers, email));
    const by = { kind: 'session', userId, address } as const;
    await recordEvent(db.kysely, now(), { type: 'sign_in.succeeded', projectId: null, by, subject: { method } });
    return { ...made, cookies: [...made.cookies, ...(await devices.remember(userId))] };
  }

  /** Records whether the address is verified at this moment, which decides whether a reset by e-mail keeps the second factor. */
  async function noteProof(factorId: string): Promise<void> {
    await db.kysely
      .updateTable('two_factors')
      .set(({ selectFrom }) => ({
        address_proven: selectFrom('users').select('email_verified').whereRef('users.id', '=', 'two_factors.user_id'),
      }))
      .where('id', '=', factorId)
      .execute();
  }

  /** Removes a second factor that was set up a moment ago. Another that exists by now is still asked for. */
  async function disarm(userId: string, factorId: string): Promise<void> {
    await db.transaction(async (trx) => {
      await lockAccount(trx, userId);
      await trx.deleteFrom('two_factors').where('id', '=', factorId).execute();
      await trx
        .updateTable('users')
        .set({
          two_factor_enabled: sql<boolean>`exists (select from two_factors where user_id = users.id and verified)`,
        })
        .where('id', '=', userId)
        .execute();
    });
  }

  const giveTotp = async (headers: Headers, userId: string, code: string): Promise<AccountAnswer> => {
    await callAuth(() => auth.api.claimTotpCode({ body: { userId, code } }));
    return answer(() => auth.api.verifyTOTP({ body: { code }, headers, returnHeaders: true }));
  };

  /** @throws Problem wrong_password, invalid_second_factor */
  async function requireBoth(headers: Headers, userId: string, { password, code }: PasswordAndCode): Promise<void> {
    // Before a code is used up by who does not know the password.
    await callAuth(() => auth.api.verifyPassword({ body: { password }, headers }));
    if (/^\d+$/.test(code)) await giveTotp(headers, userId, code);
    else await callAuth(() => auth.api.verifyBackupCode({ body: { code, disableSession: true }, headers }));
  }

  return {
    async enable(headers, caller, password) {
      if (!isOn) throw new Problem('sign_in_method_off', 'SECOND_FACTOR is off.');
      const { response, headers: answered } = await withPassword(caller, () =>
        callAuth(() => auth.api.enableTwoFactor({ body: { password, method: 'totp' }, headers, returnHeaders: true })),
      );
      const { totpURI, backupCodes } = response as z.output<typeof SecondFactorSecrets>;
      return { body: { totpURI, backupCodes }, cookies: toCookies(answered) };
    },
    async verify(headers, code, address) {
      await limits.countAddress(address);
      const found = await find(headers);
      if (!found) throw new Problem('second_factor_expired');
      const { userId, isSignedIn, factorId, isVerified } = found;
      if (factorId === undefined) throw new Problem('second_factor_not_set_up');
      if (!isSignedIn) return finish(headers, userId, address, 'totp', () => giveTotp(headers, userId, code));
      if (isVerified) throw new Problem('second_factor_set_up');
      await noteProof(factorId);
      const made = await underOnePassword(
        userId,
        'second_factor_expired',
        () => giveTotp(headers, userId, code),
        // Whoever has just lost the account must not leave a second factor behind that locks its owner out.
        () => disarm(userId, factorId),
      );
      const by = { kind: 'session', userId, address } as const;
      await recordEvent(db.kysely, now(), { type: 'second_factor.added', projectId: null, by, subject: { userId } });
      await limits.forgiveAddress(address);
      // Better Auth answers the user as they were before.
      const { user } = made.body as { user: object };
      return { ...made, body: { user: { ...user, twoFactorEnabled: true } } };
    },
    async verifyBackupCode(headers, code, address) {
      await limits.countAddress(address);
      const found = await find(headers);
      if (!found || found.isSignedIn) throw new Problem('second_factor_expired');
      return finish(headers, found.userId, address, 'backup_code', () =>
        answer(() => auth.api.verifyBackupCode({ body: { code }, headers, returnHeaders: true })),
      );
    },
    async renewBackupCodes(headers, caller, proof) {
      await requireSetUp(headers);
      const { password } = proof;
      const { backupCodes } = await withPassword(caller, async () => {
        await requireBoth(headers, caller.userId, proof);
        return callAuth(() => auth.api.generateBackupCodes({ body: { password }, headers }));
      });
      const subject = { userId: caller.userId };
      await recordEvent(db.kysely, now(), {
        type: 'second_factor.codes_renewed',
        projectId: null,
        by: caller,
        subject,
      });
      return { backupCodes };
    },
    async disable(headers, caller, proof) {
      await requireSetUp(headers);
      const { password } = proof;
      const { cookies } = await withPassword(caller, () =>
        underOnePassword(caller.userId, 'session_required', async () => {
          await requireBoth(headers, caller.userId, proof);
          const call = () => auth.api.disableTwoFactor({ body: { password }, headers, returnHeaders: true });
          const cookies = toCookies((await callAuth(call)).headers);
          const subject = { userId: caller.userId };
          await recordEvent(db.kysely, now(), { type: 'second_factor.removed', projectId: null, by: caller, subject });
          return { cookies };
        }),
      );
      return { body: { success: true }, cookies };
    },
  };
}
