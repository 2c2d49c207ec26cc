import type { User } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../db/schema.ts';

export type UserRow = Selectable<Schema['users']>;

/** An account as its owner sees it. */
export function toUserView(user: UserRow): z.output<typeof User> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    emailVerified: user.email_verified,
    image: user.image,
    role: user.role,
    twoFactorEnabled: user.two_factor_enabled,
    createdAt: user.created_at.toISOString(),
    updatedAt: user.updated_at.toISOString(),
  };
}
