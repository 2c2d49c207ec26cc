import type { Role, Scope } from '@cadiz/contract';
import type { ApiKeyCaller } from '../../deps.ts';

export interface AliveKeyRow {
  id: string;
  project_id: string | null;
  folder_id: string | null;
  created_by: string;
  creator_role: Role | null;
  scopes: Scope[];
  expires_at: Date | null;
}

/**
 * The keys that are alive at the moment `$2`: not revoked, not expired, of somebody who is not disabled and, where the
 * key is tied to a project, still a member of it.
 */
export const selectAliveKey = `
  select api_keys.id, api_keys.project_id, folder_id, created_by, members.role as creator_role, scopes, expires_at
  from api_keys
  join users on users.id = created_by and users.disabled_at is null
  left join project_members members on members.project_id = api_keys.project_id and members.user_id = created_by
  where revoked_at is null and (expires_at is null or expires_at > $2)
    and (api_keys.project_id is null or members.role is not null)`;

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
  };
}
