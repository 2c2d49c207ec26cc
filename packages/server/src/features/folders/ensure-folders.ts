import type { EnsuredFolders, Input } from '@cadiz/contract';
import { type Selectable, sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { emit } from '../../events/record-event.ts';
import { requireNotEnded } from '../../tickets/require-within-ticket.ts';
import { takeFolders } from '../../tickets/take-folders.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { requireLevels, requireParent } from '../../tree/require-place.ts';
import { toFolderView } from '../../views/folder-view.ts';
import { toNewFolder } from './new-folder.ts';

type FolderRow = Selectable<Schema['folders']>;

/** A name on the way, and the folder that it is in. */
interface Step {
  parentId: string | null;
  name: string;
  nameKey: string;
}

/**
 * The last folder of each path, in their order. Missing ones are created, level by level with one statement each; of
 * names that differ only in case, the first one counts.
 */
export async function ensureFolders(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Uploader,
  { projectId, parentId, paths }: Input<'ensureFolders'>,
): Promise<z.output<typeof EnsuredFolders>> {
  requireNotEnded(deps, caller);
  const project = await openProject(deps, caller, projectId, 'files:write');
  const at = new Date(deps.now());
  const rows = await changeTree(deps, project, async (trx) => {
    const parents = await requireParent(trx, project, parentId);
    const deepest = Math.max(...paths.map((names) => names.length));
    requireLevels(parents.length + deepest);
    /** The folder that each path has led to so far. */
    const reached: (FolderRow | undefined)[] = paths.map(() => undefined);
    const created: FolderRow[] = [];
    for (let level = 0; level < deepest; level += 1) {
      const steps = paths.map((names, index) => toStep(names[level], reached[index]?.id ?? parentId));
      const { folders, added } = await ensureLevel(trx, caller, project, steps, at);
      created.push(...added);
      for (const [index, step] of steps.entries()) if (step) reached[index] = folders.get(keyOf(step));
    }
    // Once, at the end: changing the row of the ticket a second time would lock everything that it refers to.
    if (caller.kind === 'ticket' && created.length > 0) await takeFolders(trx, caller, created.length, at);
    const event = { type: 'folder.created', projectId: project.id, by: caller } as const;
    await emit(trx, at.getTime(), ...created.map((row) => ({ ...event, data: toFolderView(row) })));
    return reached;
  });
  return { folders: rows.flatMap((row) => (row ? toFolderView(row) : [])) };
}

/** Undefined for a path that has ended before. */
function toStep(name: string | undefined, parentId: string | null): Step | undefined {
  return name === undefined ? undefined : { parentId, name, nameKey: toNameKey(name) };
}

function keyOf({ parentId, nameKey }: Pick<Step, 'parentId' | 'nameKey'>): string {
  return `${parentId}/${nameKey}`;
}

/** The folders of one level, by `keyOf`, found or added. */
async function ensureLevel(
  trx: Transaction<Schema>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  steps: readonly (Step | undefined)[],
  at: Date,
): Promise<{ folders: ReadonlyMap<string, FolderRow>; added: readonly FolderRow[] }> {
  const wanted = new Map<string, Step>();
  for (const step of steps) if (step && !wanted.has(keyOf(step))) wanted.set(keyOf(step), step);
  const folders = await findFolders(trx, project, [...wanted.values()]);
  const missing = [...wanted].filter(([key]) => !folders.has(key)).map(([, step]) => step);
  if (missing.length === 0) return { folders, added: [] };
  const added = await trx
    .insertInto('folders')
    .values(missing.map((step) => toNewFolder(caller, project, step, at)))
    .returningAll()
    .execute();
  return { folders: new Map([...folders, ...added.map((row) => [toKey(row), row] as const)]), added };
}

async function findFolders(
  trx: Transaction<Schema>,
  project: OpenProject,
  steps: readonly Step[],
): Promise<Map<string, FolderRow>> {
  const parentIds = steps.map(({ parentId }) => parentId);
  const nameKeys = steps.map(({ nameKey }) => nameKey);
  const { rows } = await sql<FolderRow>`
    select folders.* from unnest(${parentIds}::uuid[], ${nameKeys}::text[]) as step (parent_id, name_key)
    cross join lateral (
      select * from folders
      where project_id = ${project.id} and parent_id = step.parent_id and name_key = step.name_key and trash_id is null
      union all
      select * from folders
      where step.parent_id is null and project_id = ${project.id} and parent_id is null and name_key = step.name_key
        and trash_id is null
    ) folders`.execute(trx);
  return new Map(rows.map((row) => [toKey(row), row]));
}

function toKey({ parent_id: parentId, name_key: nameKey }: FolderRow): string {
  return keyOf({ parentId, nameKey });
}
