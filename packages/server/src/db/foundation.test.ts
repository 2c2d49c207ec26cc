import type { Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from './open.ts';
import type { Schema } from './schema.ts';

describe.each(testableKinds)('the schema (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  async function insert<T extends keyof Schema & string>(table: T, row: Insertable<Schema[T]>): Promise<void> {
    const names = Object.keys(row);
    const places = names.map((_, i) => `$${i + 1}`);
    await db.pool.query(`insert into ${table} (${names}) values (${places})`, Object.values(row));
  }

  async function addUser(role: 'owner' | 'member' = 'member'): Promise<string> {
    const id = uuidv7();
    await insert('users', { id, name: 'Ada', email: `${id}@example.com`, role });
    return id;
  }

  async function addProject(): Promise<string> {
    const id = uuidv7();
    await insert('projects', { id, name: 'Photos' });
    return id;
  }

  async function addFolder(projectId: string, name: string, parentId: string | null = null): Promise<string> {
    const id = uuidv7();
    await insert('folders', { project_id: projectId, id, parent_id: parentId, name, name_key: name.toLowerCase() });
    return id;
  }

  const addFile = (projectId: string, storeKey: string, folderId: string | null = null) =>
    insert('files', {
      project_id: projectId,
      id: uuidv7(),
      store_key: storeKey,
      file_name: 'a.jpg',
      name_key: 'A.JPG',
      file_size: 5_000_000_000,
      mime_type: 'image/jpeg',
      folder_id: folderId,
      etag: 'e',
      created_by_user: null,
      created_by_key: null,
    });

  const violates = (constraint: string) => ({ code: expect.stringMatching(/^23/), constraint });

  it('has these tables and columns', async () => {
    const { rows } = await db.pool.query<{ name: string; columns: string }>(
      `select table_name as name, string_agg(column_name, ' ' order by ordinal_position) as columns
       from information_schema.columns where table_schema = 'public' group by 1 order by 1`,
    );
    expect(Object.fromEntries(rows.map(({ name, columns }) => [name, columns]))).toMatchInlineSnapshot(`
      {
        "accounts": "id user_id account_id provider_id access_token refresh_token id_token access_token_expires_at refresh_token_expires_at scope password created_at updated_at",
        "api_keys": "id hash hash_alg name project_id created_by last4 scopes created_at expires_at revoked_at last_used_at folder_id expired_at",
        "audit_events": "project_id id type at user_id api_key_id ip subject request_id",
        "cadiz_migrations": "name sha256 applied_at",
        "doctor_run": "id lease leased_until started_at finished_at findings",
        "email_verifications": "token_hash user_id expires_at",
        "event_head": "id position",
        "event_heads": "project_id seq purged",
        "events": "project_id seq position id type at user_id api_key_id ticket_id data",
        "files": "project_id id store_key file_name file_size mime_type folder_id etag created_by_user created_by_key created_at updated_at name_key trash_id trashed_at trashed_by_user trashed_by_key detected_mime_type content_check check_at sha256 sha256_state ticket_id metadata external_id external_id_ceded replaces replaced_by",
        "folders": "project_id id parent_id name name_key created_at updated_at trash_id trashed_at trashed_by_user trashed_by_key created_by_user created_by_key",
        "image_variants": "project_id store_key file_id spec state started_at removable_at content_type etag bytes width height used_on",
        "image_walk": "one_row after_project after_file is_done",
        "images": "project_id file_id view",
        "invitations": "project_id id email role token_hash created_by created_at expires_at",
        "jobs": "name due_at lease leased_until last_success_at last_error last_failed_at",
        "links": "project_id id file_id disposition expires_at created_by_user created_by_key created_at image",
        "new_events": "pos project_id id type at user_id api_key_id ticket_id data",
        "operations": "project_id id action folder_id search except_ids target_id created_by_user created_by_key created_at state kind reached total done file_count folder_count total_bytes problem_code problem_detail finished_at expires_at ip request_id",
        "passkeys": "id user_id name credential_id public_key counter device_type backed_up transports aaguid created_at",
        "password_resets": "token_hash user_id expires_at",
        "presigned_bytes": "project_id since bytes",
        "project_days": "project_id day file_count total_bytes uploads added_bytes trashed_files trashed_bytes",
        "project_members": "project_id user_id role created_at",
        "project_sweeps": "project_id swept_until next_sweep_at next_reconcile_at",
        "project_usage": "project_id slot file_count total_bytes",
        "projects": "id name created_at updated_at quota_bytes max_file_size_bytes allowed_mime_types content_mismatch trash_emptied_at created_by record_from counted_from image_presets strip_location",
        "quarantines": "project_id id api_key_id created_by since created_at state reached file_count total_bytes ended_by ended_at",
        "rate_limits": "name used ends_at",
        "reconciliation_findings": "project_id reconciliation_id kind store_key facts",
        "reconciliations": "project_id id requested_by dry_run requested_at started_at finished_at compared_until next_turn_at object_count object_bytes file_count pending_count orphan_count orphan_bytes removed_count missing_count changed_count foreign_count",
        "removed_projects": "project_id removed_at",
        "sessions": "id user_id token expires_at ip_address user_agent created_at updated_at",
        "sign_in_limits": "key points expire",
        "stuck_orphans": "project_id store_key issued_at found_at reason",
        "ticket_reservations": "project_id store_key ticket_id bytes state look_at ends_at upload_id facts seen_at",
        "tickets": "project_id id hash folder_id created_by created_by_key max_files max_bytes used_files used_bytes used_folders max_file_size mime_types origins metadata created_at expires_at revoked_at expiry_told auto_record",
        "two_factors": "id user_id secret backup_codes verified last_step failed_verification_count locked_until address_proven",
        "uploads": "project_id id store_key store_upload_id file_name file_size mime_type folder_id part_size sha256 created_by_user created_by_key created_at expires_at aborted_at completed_at file_id ticket_id",
        "users": "id name email email_verified image role created_at updated_at disabled_at two_factor_enabled must_verify_email",
        "verifications": "id identifier value expires_at created_at updated_at",
        "webhook_deliveries": "project_id endpoint_id event_id seq type at state due_at attempts attempted_at status duration_ms answer error",
        "webhook_endpoints": "project_id id url description types ordered enabled disabled_reason disabled_at secret old_secret old_secret_until first_failure_at failure_told paused_until created_by created_at",
        "work": "kind project_id subject payload state due_at lease again_at attempts last_error",
      }
    `);
  });

  it('lets only one of many users be the owner', async () => {
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => addUser('owner')));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(addUser('owner')).rejects.toMatchObject(violates('users_one_owner'));
    await addUser('member');
  });

  it('keeps names unique among siblings, in the root too', async () => {
    const [here, there] = [await addProject(), await addProject()];
    const parent = await addFolder(here, 'Summer');
    await expect(addFolder(here, 'SUMMER')).rejects.toMatchObject(violates('folders_sibling_name'));
    await addFolder(there, 'Summer');
    await addFolder(here, 'Summer', parent);
    await expect(addFolder(here, 'summer', parent)).rejects.toMatchObject(violates('folders_sibling_name'));
  });

  it('keeps folders and files inside their project', async () => {
    const [here, there] = [await addProject(), await addProject()];
    const folder = await addFolder(there, 'Theirs');
    await expect(addFolder(here, 'x', folder)).rejects.toMatchObject(violates('folders_parent_fkey'));
    await expect(addFile(here, 'k', folder)).rejects.toMatchObject(violates('files_folder_fkey'));
    await expect(addFile(uuidv7(), 'k')).rejects.toMatchObject(violates('files_project_id_fkey'));
    await expect(addFolder(uuidv7(), 'x')).rejects.toMatchObject(violates('folders_project_id_fkey'));
  });

  it('records a storeKey only once, with a size beyond 32 bits', async () => {
    const project = await addProject();
    await addFile(project, 'once');
    await expect(addFile(project, 'once')).rejects.toMatchObject(violates('files_store_key_key'));
    const row = await db.kysely
      .selectFrom('files')
      .select('file_size')
      .where('store_key', '=', 'once')
      .executeTakeFirst();
    expect(row).toEqual({ file_size: 5_000_000_000 });
  });

  it('does not delete a project with files, and deletes an empty one with its keys and members', async () => {
    const [full, empty, user] = [await addProject(), await addProject(), await addUser()];
    await addFile(full, 'kept');
    const remove = (id: string) => db.kysely.deleteFrom('projects').where('id', '=', id).execute();
    await expect(remove(full)).rejects.toMatchObject(violates('files_project_id_fkey'));
    await insert('project_members', { project_id: empty, user_id: user, role: 'owner' });
    await insert('api_keys', {
      id: uuidv7(),
      hash: Buffer.from(empty),
      name: 'key',
      project_id: empty,
      created_by: user,
      last4: 'abcd',
      scopes: ['files:read'],
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    });
    await remove(empty);
    const left = await db.kysely.selectFrom('api_keys').select('id').where('project_id', '=', empty).execute();
    expect(left).toEqual([]);
  });
});
