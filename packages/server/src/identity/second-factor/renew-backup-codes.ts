import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { makeBackupCodes, sealBackupCodes } from './backup-codes.ts';
import { type BothFactorsDeps, withBothFactors } from './with-both-factors.ts';

/** Replaces all backup codes with new ones. */
export async function renewBackupCodes(
  deps: BothFactorsDeps,
  caller: SessionCaller,
  proof: Input<'renewBackupCodes'>,
): Promise<Answer<'renewBackupCodes'>> {
  const { db, now, secret } = deps;
  const backupCodes = makeBackupCodes();
  await withBothFactors(deps, caller, proof, ({ id }) =>
    db.transaction(async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('two_factors')
        .set({ backup_codes: sealBackupCodes(secret, backupCodes) })
        .where('id', '=', id)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw new Problem('second_factor_not_set_up');
      const subject = { userId: caller.userId };
      const type = 'second_factor.codes_renewed';
      await recordEvent(trx, now(), { type, projectId: null, by: caller, subject });
    }),
  );
  return { backupCodes };
}
