import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { addVerifications, makeName, takeVerification } from '../verifications.ts';

const lifetimeMilliseconds = 300_000;

/** A question for a passkey, as it is stored until the answer arrives. */
const Question = z.object({
  type: z.enum(['registration', 'authentication']),
  expectedChallenge: z.string(),
  /** Whose passkey is being created; empty for a sign-in, where the person is not known yet. */
  userData: z.object({ id: z.string() }),
});
type Question = z.output<typeof Question>;

/** @returns the name of the question, which the browser keeps */
export async function keepQuestion(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { type, challenge, userId = '' }: { type: Question['type']; challenge: string; userId?: string },
): Promise<string> {
  const at = now();
  const name = makeName();
  const question: Question = { type, expectedChallenge: challenge, userData: { id: userId } };
  const expiresAt = new Date(at + lifetimeMilliseconds);
  await addVerifications(db.kysely, at, [{ name, value: JSON.stringify(question), expiresAt }]);
  return name;
}

/**
 * Uses up a question: each can be answered once. The signature of a cookie does not say which one it was made for, so
 * the name may be that of a sign-in that waits for its second factor, whose value is not a question.
 * @returns the challenge
 * @throws Problem passkey_expired also if it was another kind of question, or for another account
 */
export async function takeQuestion(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  name: string | undefined,
  { type, userId = '' }: { type: Question['type']; userId?: string },
): Promise<string> {
  const value = name === undefined ? undefined : await takeVerification(db.kysely, now(), name);
  const question = Question.safeParse(value?.startsWith('{') ? JSON.parse(value) : undefined);
  if (!question.success || question.data.type !== type) throw new Problem('passkey_expired');
  if (type === 'registration' && question.data.userData.id !== userId) throw new Problem('passkey_expired');
  return question.data.expectedChallenge;
}
