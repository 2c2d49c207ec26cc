import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/** The condition on keys that are neither revoked nor expired. */
export function whereActive(now: number): (key: ExpressionBuilder<Schema, 'api_keys'>) => Expression<SqlBool> {
  return (key) =>
    key.and([
      key('revoked_at', 'is', null),
      key('expired_at', 'is', null),
      key.or([key('expires_at', 'is', null), key('expires_at', '>', new Date(now))]),
    ]);
}
