import type { UserAccount } from '@cadiz/contract';
import type { z } from 'zod';
import type { UserRow } from '../user-view.ts';

/** An account as the owner of the service sees it. */
export function toUserAccount(user: UserRow): z.output<typeof UserAccount> {
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
