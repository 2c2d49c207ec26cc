import type { Role, Scope } from '@cadiz/contract';
import type { ApiKeyCaller } from './caller.ts';

export interface AliveKeyRow {
  id: string;
  project_id: string | null;
  folder_id: string | null;
  created_by: string;
  creator_role: Role | null;
  scopes: Scope[];
  expires_at: Date | null;
}

export interface KeyRow extends AliveKeyRow {
  hash: Buffer;
  is_alive: boolean;
  /** Whether it has expired and `expired_at` does not say so yet. */
  has_just_expired: boolean;
}

/**
 * Alive at `$2`: not revoked, not expired, made by a user who is enabled and, for a key tied to a project, still a
 * member.
 */
const isAlive = `(
  users.disabled_at is null and revoked_at is null and expired_at is null and (expires_at is null or expires_at > $2)
  and (api_keys.project_id is null or members.role is not null))`;

const columns = `
  api_keys.id, api_keys.project_id, folder_id, created_by, members.role as creator_role, scopes, expires_at`;

const keysWithMakers = `
  from api_keys
  join users on users.id = created_by
  left join project_members members on members.project_id = api_keys.project_id and members.user_id = created_by`;

/** Selects the keys that are alive at `$2`; append `and …`. */
export const selectAliveKey = `select ${columns} ${keysWithMakers} where ${isAlive}`;

/** Selects keys, and whether each is alive at `$2`. */
export const selectKeys = `
  select ${columns}, hash, ${isAlive} as is_alive, expired_at is null and coalesce(expires_at <= $2, false) as has_just_expired
  ${keysWithMakers}`;

/** The caller that a row of `selectAliveKey` stands for. */
export function toApiKeyCaller(row: AliveKeyRow): ApiKeyCaller {
  return {
    kind: 'apiKey',
    keyId: row.id,
    tied:
      row.project_id === null || row.creator_role === null
        ? null
        : { projectId: row.project_id, folderId: row.folder_id, role: row.creator_role },
    createdBy: row.created_by,
    scopes: row.scopes,
    expiresAt: row.expires_at?.getTime(),
  };
}
