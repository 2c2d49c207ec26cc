import { sql } from 'kysely';
import type { OpenProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * Checks that a key belongs to a project: it is tied to it, or has recorded something there since, whatever has become
 * of the key. For any other key, the answer does not reveal whether it exists.
 * @param firstId of the files examined
 * @throws Problem api_key_not_found
 */
export async function requireKeyOfProject(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'keys:manage'>,
  apiKeyId: string,
  firstId: string,
): Promise<void> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select 1 from api_keys where id = ${apiKeyId} and project_id = ${project.id})
        or exists (
          select 1 from files where project_id = ${project.id} and id > ${firstId} and created_by_key = ${apiKeyId}
        ) as known`.execute(db.kysely);
  if (!rows[0]?.known) throw new Problem('api_key_not_found');
}
