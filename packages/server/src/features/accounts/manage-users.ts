import type { EndedSessions, Input, RemovedUser, UserAccount, UserPage } from '@cadiz/contract';
import type { Selectable, Transaction } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { endSessions } from './end-sessions.ts';
import { lockProjectsOf } from './lock-account.ts';
import { proveEmail } from './prove-email.ts';
import { removeAllPasskeys } from './remove-all-passkeys.ts';

/** What managing accounts needs, also where no service runs. */
export type ManagingDeps = Pick<Deps, 'db' | 'now' | 'accessChanges'>;

const pageSize = 1000;

/** All accounts, the oldest first. */
export async function listUsers(
  { db }: Pick<Deps, 'db'>,
  _by: Actor,
  { cursor }: Input<'listUsers'>,
): Promise<z.output<typeof UserPage>> {
  let query = db.kysely
    .selectFrom('users')
    .selectAll()
    .orderBy('id')
    .limit(pageSize + 1);
  if (cursor !== undefined) query = query.where('id', '>', cursor);
  const rows = await query.execute();
  const users = rows.slice(0, pageSize).map(toUserAccount);
  return { users, nextCursor: rows.length > pageSize ? (users.at(-1)?.id ?? null) : null };
}

/**
 * Disables an account: all its sessions end, it signs in no more, and its API keys are dead. Or enables it again; its
 * keys live then, its sessions do not.
 * @throws Problem user_not_found, last_owner
 */
export async function changeUser(
  { db, now, accessChanges }: ManagingDeps,
  by: Actor,
  { userId, disabled }: Input<'changeUser'>,
): Promise<z.output<typeof UserAccount>> {
  const changed = await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId, disabled);
    if (disabled === (user.disabled_at !== null)) return user;
    const at = now();
    if (disabled) await endSessions(trx, userId);
    const type = disabled ? 'account.disabled' : 'account.enabled';
    await recordEvent(trx, at, { type, projectId: null, by, subject: { userId } });
    return trx
      .updateTable('users')
      .set({ disabled_at: disabled ? new Date(at) : null })
      .where('id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  await accessChanges.publish({ kind: 'user', id: userId });
  return toUserAccount(changed);
}

/**
 * Deletes an account with its sessions, memberships, invitations and API keys. What it uploaded stays.
 * @throws Problem user_not_found, last_owner when it is the owner of the service, or a project has no other owner
 */
export async function removeUser(
  { db, now, accessChanges }: ManagingDeps,
  by: Actor,
  { userId }: Input<'removeUser'>,
): Promise<z.output<typeof RemovedUser>> {
  await db.transaction(async (trx) => {
    await lockUser(trx, userId, true);
    await lockProjectsOf(trx, userId);
    await requireOtherOwners(trx, userId);
    await trx.deleteFrom('users').where('id', '=', userId).execute();
    await recordEvent(trx, now(), { type: 'account.deleted', projectId: null, by, subject: { userId } });
  });
  await accessChanges.publish({ kind: 'user', id: userId });
  return { userId, removed: true };
}

/** @throws Problem user_not_found */
export async function endUserSessions(
  { db, now }: ManagingDeps,
  by: Actor,
  { userId }: Input<'endUserSessions'>,
): Promise<z.output<typeof EndedSessions>> {
  return db.transaction(async (trx) => {
    await lockUser(trx, userId, false);
    const endedSessions = await endSessions(trx, userId);
    const subject = { userId, endedSessions };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by, subject });
    return { endedSessions };
  });
}

/**
 * Takes the second factor away from somebody who has lost it: their password alone signs in again. All their sessions end.
 * @throws Problem user_not_found, second_factor_not_set_up
 */
export async function removeSecondFactor(
  { db, now }: ManagingDeps,
  by: Actor,
  userId: string,
): Promise<z.output<typeof EndedSessions>> {
  return db.transaction(async (trx) => {
    await lockUser(trx, userId, false);
    const { numDeletedRows } = await trx.deleteFrom('two_factors').where('user_id', '=', userId).executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('second_factor_not_set_up');
    await trx.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', userId).execute();
    const endedSessions = await endSessions(trx, userId);
    const subject = { userId, endedSessions };
    await recordEvent(trx, now(), { type: 'second_factor.removed', projectId: null, by, subject });
    return { endedSessions };
  });
}

/**
 * Takes all passkeys away from somebody, who may have lost one, or whose account somebody else was in. All their sessions end.
 * @throws Problem user_not_found, passkey_not_found
 */
export async function removePasskeys(
  { db, now }: ManagingDeps,
  by: Actor,
  userId: string,
): Promise<{ removedPasskeys: number; endedSessions: number }> {
  return db.transaction(async (trx) => {
    await lockUser(trx, userId, false);
    const endedSessions = await endSessions(trx, userId);
    const removedPasskeys = await removeAllPasskeys(trx, userId);
    if (removedPasskeys === 0) throw new Problem('passkey_not_found', 'The account has no passkeys.');
    const removed = { removedPasskeys, endedSessions };
    const subject = { userId, ...removed };
    await recordEvent(trx, now(), { type: 'passkey.removed', projectId: null, by, subject });
    return removed;
  });
}

/**
 * Records an e-mail address as verified because the caller vouches for it.
 * @throws Problem user_not_found
 */
export async function vouchForEmail({ db, now }: ManagingDeps, by: Actor, userId: string): Promise<void> {
  await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId, false);
    if (user.email_verified) return;
    await proveEmail(trx, userId);
    await recordEvent(trx, now(), { type: 'email.verified', projectId: null, by, subject: { userId } });
  });
}

/** @param keepsOwner whether this cannot be done to the owner of the service, who would lock everybody out */
async function lockUser(trx: Transaction<Schema>, userId: string, keepsOwner: boolean): Promise<User> {
  const user = await trx.selectFrom('users').selectAll().where('id', '=', userId).forUpdate().executeTakeFirst();
  if (!user) throw new Problem('user_not_found');
  if (keepsOwner && user.role === 'owner') {
    throw new Problem('last_owner', 'This is the owner of the service, whose account stays.');
  }
  return user;
}

async function requireOtherOwners(trx: Transaction<Schema>, userId: string): Promise<void> {
  const owned = trx
    .selectFrom('project_members')
    .select('project_id')
    .where('user_id', '=', userId)
    .where('role', '=', 'owner');
  // Their rows are locked, so that of two owners who go at once one stays.
  const owners = await trx
    .selectFrom('project_members')
    .select(['project_id', 'user_id'])
    .where('role', '=', 'owner')
    .where('project_id', 'in', owned)
    .orderBy('project_id')
    .orderBy('user_id')
    .forUpdate()
    .execute();
  const kept = new Set(owners.filter((owner) => owner.user_id !== userId).map((owner) => owner.project_id));
  const orphaned = new Set(owners.map((owner) => owner.project_id).filter((id) => !kept.has(id)));
  if (orphaned.size === 0) return;
  throw new Problem('last_owner', `${orphaned.size} projects have no other owner, such as ${[...orphaned][0]}.`);
}

type User = Selectable<Schema['users']>;

function toUserAccount(user: User): z.output<typeof UserAccount> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    emailVerified: user.email_verified,
    role: user.role,
    createdAt: user.created_at.toISOString(),
    disabledAt: user.disabled_at?.toISOString() ?? null,
  };
}
