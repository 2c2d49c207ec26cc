import { v7 as uuidv7 } from 'uuid';
import type { SessionCaller } from '../../access/caller.ts';
import { isUniqueViolation } from '../../db/database-errors.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockAccount } from '../lock-account.ts';
import { proveEmail } from '../prove-email.ts';
import { findOwner, requireVerifiedEmail } from './find-or-make-account.ts';
import type { Claims, Issuer } from './issuer.ts';

type LinkDeps = Pick<Deps, 'db' | 'now'>;

/**
 * Links a subject of the issuer to the caller's account, if both have the same e-mail address and the issuer has
 * verified it. The address counts as verified from now on.
 * @throws Problem oidc_email_not_verified, oidc_email_differs, oidc_account_taken
 */
export async function linkIdentity(
  deps: LinkDeps,
  caller: SessionCaller,
  identity: { issuer: Issuer; claims: Claims },
): Promise<void> {
  const { userId } = caller;
  const { claims } = identity;
  const email = requireVerifiedEmail(claims);
  const query = deps.db.kysely.selectFrom('users').select('email').where('id', '=', userId);
  if ((await query.executeTakeFirst())?.email !== email) throw new Problem('oidc_email_differs');
  const owner = await findOwner(deps, identity);
  if (owner === userId) return;
  if (owner !== undefined) throw new Problem('oidc_account_taken');
  const { issuer } = identity.issuer.settings;
  await add(deps, caller, { issuer, subject: claims.sub }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new Problem('oidc_account_taken') : error;
  });
}

async function add(
  { db, now }: LinkDeps,
  caller: SessionCaller,
  { issuer, subject }: { issuer: string; subject: string },
): Promise<void> {
  const { userId } = caller;
  await db.transaction(async (trx) => {
    const at = now();
    const times = { created_at: new Date(at), updated_at: new Date(at) };
    await lockAccount(trx, userId);
    await trx
      .insertInto('accounts')
      .values({ id: uuidv7(), user_id: userId, provider_id: issuer, account_id: subject, ...times })
      .execute();
    await proveEmail(trx, userId);
    const event = { type: 'identity.linked', projectId: null, by: caller, subject: { userId, issuer } } as const;
    await recordEvent(trx, at, event);
  });
}
