import type { SecondFactorNeeded } from '@cadiz/contract';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { addVerifications, countUp, findVerification, makeName, takeVerification } from '../verifications.ts';
import { findFactor } from './factor.ts';

/** A sign-in that waits for its second factor: the password was right. */
export interface Challenge {
  /** Its name, which the browser keeps. */
  challenge: string;
  methods: z.output<typeof SecondFactorNeeded>['twoFactorMethods'];
}

const lifetimeMilliseconds = 600_000;
const mostAttempts = 5;

/** No other name begins like this: the signature of a cookie does not say which one it was made for. */
const prefix = '2fa-';
const nameOfAttempts = (challenge: string) => `2fa-attempts-${challenge}`;

/** @param at Unix milliseconds */
export async function beginChallenge(trx: Kysely<Schema>, at: number, userId: string): Promise<Challenge> {
  const challenge = prefix + makeName();
  const expiresAt = new Date(at + lifetimeMilliseconds);
  await addVerifications(trx, at, [
    { name: challenge, value: userId, expiresAt },
    { name: nameOfAttempts(challenge), value: '0', expiresAt },
  ]);
  const factor = await findFactor(trx, userId);
  return { challenge, methods: factor?.verified ? ['totp'] : [] };
}

/**
 * @param challenge the name that the browser keeps
 * @returns it, and whose sign-in it is
 * @throws Problem second_factor_expired
 */
export async function requireChallenge(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  challenge: string | undefined,
): Promise<{ challenge: string; userId: string }> {
  const userId = challenge?.startsWith(prefix) ? await findVerification(db.kysely, now(), challenge) : undefined;
  if (challenge === undefined || userId === undefined) throw new Problem('second_factor_expired');
  return { challenge, userId };
}

/** Counts one of five guesses. @throws Problem second_factor_expired */
export async function countAttempt({ db, now }: Pick<Deps, 'db' | 'now'>, challenge: string): Promise<void> {
  const isCounted = await countUp(db.kysely, now(), nameOfAttempts(challenge), mostAttempts);
  if (!isCounted) throw new Problem('second_factor_expired');
}

/**
 * Uses up the challenge.
 * @param at Unix milliseconds
 * @returns whether it was still there
 */
export async function takeChallenge(trx: Kysely<Schema>, at: number, challenge: string): Promise<boolean> {
  await takeVerification(trx, at, nameOfAttempts(challenge));
  return (await takeVerification(trx, at, challenge)) !== undefined;
}
