import type { FolderPath } from '@cadiz/contract';
import type pg from 'pg';
import type { z } from 'zod';
import type { ReachedProject } from '../access/open-project.ts';
import { toStatement } from '../db/statement.ts';

type Path = z.output<typeof FolderPath>;

/** One folder of the paths, as `pathsStatement` answers it. */
export interface PathRow {
  id: string;
  name: string;
  parent_id: string | null;
}

/**
 * Reads, each once, the folders that are in sight and those they are in, up to the folder that the caller's key is tied
 * to: nothing above it is read.
 */
export function pathsStatement({ id, within }: ReachedProject, folderIds: readonly string[]): pg.QueryConfig {
  // As in `joinChildren`: one folder at a time.
  const sql = `
    with recursive path as (
      select id, name, parent_id from folders
      where project_id = :projectId and id = any(:folderIds::uuid[]) and trash_id is null
      union
      select up.id, up.name, up.parent_id from path cross join lateral (
        select id, name, parent_id from folders where project_id = :projectId and id = path.parent_id offset 0
      ) up
      where path.id is distinct from :within::uuid
    )
    select id, name, parent_id from path`;
  const wanted = within === null ? folderIds : [...folderIds, within];
  return toStatement('folder-paths', sql, { projectId: id, within, folderIds: `{${[...new Set(wanted)].join(',')}}` });
}

/**
 * Finds the path to a folder, which comes last in it: from the root, or from the folder that the caller's key is tied to.
 * For null, or a folder that is not in sight, it is that of what is restored from it: empty, or that folder of the key alone.
 */
export function toPaths({ within }: ReachedProject, rows: readonly PathRow[]): (folderId: string | null) => Path {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return (folderId) => {
    const path: Path = [];
    let at = byId.get(folderId ?? '') ?? byId.get(within ?? '');
    while (at) {
      path.unshift({ id: at.id, name: at.name });
      at = at.id === within ? undefined : byId.get(at.parent_id ?? '');
    }
    return path;
  };
}
