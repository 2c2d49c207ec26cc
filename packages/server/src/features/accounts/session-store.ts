import { createHash } from 'node:crypto';
import { kyselyAdapter } from '@better-auth/kysely-adapter';
import type { BetterAuthOptions } from 'better-auth';
import { APIError } from 'better-auth/api';
import type { DBAdapter, Where } from 'better-auth/types';
import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

type Methods = Omit<DBAdapter, 'transaction'>;

/**
 * Better Auth's own Kysely adapter, with two changes:
 * - a session's token is stored as its SHA-256 only, so that a copy of the database signs nobody in;
 * - the first user becomes the owner. That there is only one is the database's word: the unique index
 *   `users_one_owner` lets one of many racing sign-ups through.
 */
export function createSessionStore(kysely: Kysely<Schema>): (options: BetterAuthOptions) => DBAdapter {
  const create = kyselyAdapter(kysely, { type: 'postgres', transaction: true });
  return (options) => {
    const adapter = create(options);
    return {
      ...wrap(adapter),
      transaction: (work) => adapter.transaction((inner) => work(wrap(inner))),
    };
  };
}

function wrap(inner: Methods): Methods {
  return {
    ...inner,
    create: (query) => createRow(inner, query) as Promise<never>,
    async findOne<T>(query: Parameters<Methods['findOne']>[0]) {
      const found = await inner.findOne<T>({ ...query, where: hashTokens(query.model, query.where) });
      return withToken(found, query.model, query.where);
    },
    findMany: (query) => inner.findMany({ ...query, where: hashTokens(query.model, query.where ?? []) }),
    async update<T>(query: Parameters<Methods['update']>[0]) {
      const updated = await inner.update<T>({ ...query, where: hashTokens(query.model, query.where) });
      return withToken(updated, query.model, query.where);
    },
    updateMany: (query) => inner.updateMany({ ...query, where: hashTokens(query.model, query.where) }),
    delete: (query) => inner.delete({ ...query, where: hashTokens(query.model, query.where) }),
    deleteMany: (query) => inner.deleteMany({ ...query, where: hashTokens(query.model, query.where) }),
    consumeOne: (query) => inner.consumeOne({ ...query, where: hashTokens(query.model, query.where) }),
    count: (query) => inner.count({ ...query, where: hashTokens(query.model, query.where ?? []) }),
  };
}

/** Sign-up hides every error but its own kind, so the database's travels as the cause of one. */
function letThrough(cause: unknown): never {
  throw Object.assign(new APIError('INTERNAL_SERVER_ERROR', { message: 'The user could not be stored' }), { cause });
}

async function createRow(inner: Methods, query: Parameters<Methods['create']>[0]): Promise<unknown> {
  if (query.model === 'user') {
    const role = (await inner.count({ model: 'user' })) === 0 ? 'owner' : 'member';
    return inner.create({ ...query, data: { ...query.data, role } }).catch(letThrough);
  }
  if (query.model !== 'session') return inner.create(query);
  const { token } = query.data as { token?: unknown };
  const created = await inner.create({ ...query, data: { ...query.data, token: hashSessionToken(String(token)) } });
  return { ...created, token };
}

export function hashSessionToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

function hashTokens(model: string, where: Where[]): Where[] {
  if (model !== 'session') return where;
  return where.map((clause) =>
    clause.field === 'token' && typeof clause.value === 'string'
      ? { ...clause, value: hashSessionToken(clause.value) }
      : clause,
  );
}

/** The caller searched by the raw token and goes on with it, for the cookie. */
function withToken<T>(row: T | null, model: string, where: Where[]): T | null {
  const token = where.find((clause) => clause.field === 'token')?.value;
  return row && model === 'session' && token !== undefined ? { ...row, token } : row;
}
