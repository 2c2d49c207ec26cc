import { randomBytes } from 'node:crypto';
import type { Answer, Input } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { SessionCaller } from '../../access/caller.ts';
import { requireProvenEmailOfEverybody } from '../../access/require-proven-email.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { seal } from '../../settings/secret-box.ts';
import { findOwnAccount, withOwnPassword } from '../passwords/with-own-password.ts';
import { makeBackupCodes, sealBackupCodes } from './backup-codes.ts';
import { toTotpUri } from './totp.ts';

type EnableDeps = Pick<Deps, 'db' | 'mail' | 'config' | 'secret' | 'passwords' | 'signInLimits'>;

/**
 * Begins to set up a second factor: a secret for an app, and backup codes, both in force once a code was right. A
 * secret that was never confirmed is replaced.
 */
export async function enableSecondFactor(
  deps: EnableDeps,
  caller: SessionCaller,
  { password }: Input<'enableSecondFactor'>,
): Promise<Answer<'enableSecondFactor'>> {
  await requireProvenEmailOfEverybody(deps, caller);
  if (!deps.config.secondFactor) throw new Problem('sign_in_method_off', 'SECOND_FACTOR is off.');
  const account = await findOwnAccount(deps, caller);
  const secret = randomBytes(24).toString('base64url');
  const backupCodes = makeBackupCodes();
  await withOwnPassword(deps, account, password, () => keep(deps, caller, secret, backupCodes));
  return { totpURI: toTotpUri(secret, account.email), backupCodes };
}

/** @throws Problem second_factor_set_up */
async function keep(
  deps: Pick<Deps, 'db' | 'secret'>,
  { userId }: SessionCaller,
  secret: string,
  backupCodes: string[],
): Promise<void> {
  const sealed = { secret: seal(deps.secret, secret), backup_codes: sealBackupCodes(deps.secret, backupCodes) };
  const { numInsertedOrUpdatedRows } = await deps.db.kysely
    .insertInto('two_factors')
    .values({ id: uuidv7(), user_id: userId, ...sealed, verified: false })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ ...sealed, last_step: null })
        .where('two_factors.verified', '=', false),
    )
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw new Problem('second_factor_set_up');
}
