import type { BetterAuthPlugin, GenericEndpointContext } from 'better-auth';
import { createAuthEndpoint, getSessionFromCtx } from 'better-auth/api';
import { symmetricDecrypt } from 'better-auth/crypto';
import { twoFactor } from 'better-auth/plugins';
import { z } from 'zod';
import type { Database } from '../../db/open.ts';
import { Problem } from '../../problem.ts';
import { findTotpStep } from './totp-step.ts';

/** Better Auth's second factors, and what totp.ts asks of them besides. */
export function toSecondFactorPlugins(db: Database, now: () => number) {
  const table = twoFactor({
    issuer: 'Cadiz',
    schema: {
      user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
      twoFactor: {
        modelName: 'two_factors',
        fields: {
          userId: 'user_id',
          backupCodes: 'backup_codes',
          failedVerificationCount: 'failed_verification_count',
          lockedUntil: 'locked_until',
        },
      },
    },
  });
  return [table, toClaims(db, now)] as [typeof table, ReturnType<typeof toClaims>];
}

/** Endpoints without a path, which only this file calls. */
function toClaims(db: Database, now: () => number) {
  return {
    id: 'second-factor-claims',
    endpoints: {
      findSecondFactor: createAuthEndpoint.serverOnly({ method: 'POST', requireHeaders: true }, async (context) => {
        const owner = await findOwner(context);
        const factor = owner && (await findFactor(context, owner.userId));
        return owner && { ...owner, factorId: factor?.id, isVerified: factor?.verified === true };
      }),
      claimTotpCode: createAuthEndpoint.serverOnly(
        { method: 'POST', body: z.object({ userId: z.string(), code: z.string() }) },
        async (context) => {
          const { userId, code } = context.body;
          const factor = await findFactor(context, userId);
          if (!factor) return {};
          const secret = await symmetricDecrypt({ key: context.context.secretConfig, data: factor.secret });
          const step = findTotpStep(secret, code, now());
          // A wrong code is Better Auth's to refuse, which counts it.
          if (step !== undefined) await claimStep(db, factor.id, step);
          return {};
        },
      ),
    },
  } satisfies BetterAuthPlugin;
}

/** Who is asking: signed in, or having given a password in this browser. */
async function findOwner(context: GenericEndpointContext): Promise<{ userId: string; isSignedIn: boolean } | null> {
  const session = await getSessionFromCtx(context, { disableRefresh: true });
  if (session) return { userId: session.user.id, isSignedIn: true };
  const { secret, internalAdapter, createAuthCookie } = context.context;
  const identifier = await context.getSignedCookie(createAuthCookie('two_factor').name, secret);
  // The signature of a cookie is bound to no name: this may be that of a question for a passkey.
  if (typeof identifier !== 'string' || !identifier.startsWith('2fa-')) return null;
  const challenge = await internalAdapter.findVerificationValue(identifier);
  if (!challenge || challenge.expiresAt <= new Date()) return null;
  return { userId: challenge.value, isSignedIn: false };
}

interface Factor {
  id: string;
  secret: string;
  verified: boolean | null;
}

async function findFactor({ context }: GenericEndpointContext, userId: string): Promise<Factor | undefined> {
  const where = [{ field: 'userId', value: userId }];
  return (await context.adapter.findOne<Factor>({ model: 'twoFactor', where })) ?? undefined;
}

/** RFC 6238 §5.2: a code that was accepted once is accepted no more, nor is one of before. @throws Problem invalid_second_factor */
async function claimStep({ kysely }: Database, id: string, step: number): Promise<void> {
  const { numUpdatedRows } = await kysely
    .updateTable('two_factors')
    .set({ last_step: step })
    .where('id', '=', id)
    .where(({ eb, or }) => or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
    .executeTakeFirst();
  if (numUpdatedRows === 0n)
    throw new Problem('invalid_second_factor', 'This code was used already: wait for the next.');
}
