import { createHash } from 'node:crypto';
import { kyselyAdapter } from '@better-auth/kysely-adapter';
import type { BetterAuthOptions } from 'better-auth';
import { APIError } from 'better-auth/api';
import type { DBAdapter, Where } from 'better-auth/types';
import type { Kysely } from 'kysely';
import { longestMilliseconds } from '../../access/session-lifetime.ts';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';

type Methods = Omit<DBAdapter, 'transaction'>;

interface StoreOptions {
  now: () => number;
}

/**
 * Better Auth's own Kysely adapter, with two changes:
 * - a session's token is stored as its SHA-256 only, so that a copy of the database signs nobody in;
 * - who is disabled gets no session, whichever way they sign in, and a session that is there already, or is too old, is
 *   none. That is asked at every use, so that a sign-in that races with the disabling leaves nothing behind that works.
 */
export function createSessionStore(
  kysely: Kysely<Schema>,
  settings: StoreOptions,
): (options: BetterAuthOptions) => DBAdapter {
  const create = kyselyAdapter(kysely, { type: 'postgres', transaction: true });
  return (options) => {
    const adapter = create(options);
    return {
      ...wrap(letErrorsThrough(adapter), settings),
      transaction: (work) => adapter.transaction((inner) => work(wrap(letErrorsThrough(inner), settings))),
    };
  };
}

function wrap(inner: Methods, settings: StoreOptions): Methods {
  return {
    ...inner,
    create: (query) => createRow(inner, query) as Promise<never>,
    async findOne<T>(query: Parameters<Methods['findOne']>[0]) {
      const found = await inner.findOne<T>({ ...query, where: hashTokens(query.model, query.where) });
      if (query.model === 'session' && isOver(found, settings.now())) return null;
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

/** Better Auth hides every error but those of its own kind, so the database's travel as the cause of one. */
function letErrorsThrough(inner: Methods): Methods {
  const through = (cause: unknown): never => {
    throw Object.assign(new APIError('INTERNAL_SERVER_ERROR', { message: 'The database failed' }), { cause });
  };
  return {
    ...inner,
    create: (query) => inner.create(query).catch(through) as Promise<never>,
    findOne: <T>(query: Parameters<Methods['findOne']>[0]) => inner.findOne<T>(query).catch(through),
    findMany: <T>(query: Parameters<Methods['findMany']>[0]) => inner.findMany<T>(query).catch(through),
    update: <T>(query: Parameters<Methods['update']>[0]) => inner.update<T>(query).catch(through),
    updateMany: (query) => inner.updateMany(query).catch(through),
    delete: (query) => inner.delete(query).catch(through),
    deleteMany: (query) => inner.deleteMany(query).catch(through),
    consumeOne: <T>(query: Parameters<Methods['consumeOne']>[0]) => inner.consumeOne<T>(query).catch(through),
    count: (query) => inner.count(query).catch(through),
  };
}

async function createRow(inner: Methods, query: Parameters<Methods['create']>[0]): Promise<unknown> {
  if (query.model !== 'session') return inner.create(query);
  const { token, userId } = query.data as { token?: unknown; userId?: string };
  const user = await inner.findOne<{ disabledAt?: Date | null }>({
    model: 'user',
    where: [{ field: 'id', value: String(userId) }],
  });
  if (user?.disabledAt) {
    throw Object.assign(new APIError('FORBIDDEN'), { cause: new Problem('account_disabled') });
  }
  const created = await inner.create({ ...query, data: { ...query.data, token: hashSessionToken(String(token)) } });
  return { ...created, token };
}

/** A session with its user, as Better Auth asks for them. */
function isOver(found: unknown, now: number): boolean {
  const { createdAt, user } = (found ?? {}) as { createdAt?: Date; user?: { disabledAt?: Date | null } };
  return Boolean(user?.disabledAt) || (createdAt !== undefined && createdAt.getTime() + longestMilliseconds <= now);
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
