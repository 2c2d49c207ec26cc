import { Problem } from '../../problem.ts';
import type { Listed } from './cursor.ts';

export interface Breadcrumb {
  id: string | null;
  name: string;
}

/**
 * The folders from the root, under the project's name, to `:innermost`, as the text of a JSON array in `json`; null if
 * there is no such project.
 */
export const breadcrumbsSql = `
  with recursive path as (
    select id, name, parent_id, 1 as height from folders
    where project_id = :projectId and id = :innermost and trash_id is null
    union all
    select up.id, up.name, up.parent_id, height + 1 from folders up
    join path on up.project_id = :projectId and up.id = path.parent_id
  ), crumbs as (
    select id, name, height from path
    union all
    select null, name, 2147483647 from projects where id = :projectId
  )
  select json_agg(json_build_object('id', id, 'name', name) order by height desc)::text as json from crumbs`;

/** The value of `:innermost`: the listed folder, or the one that the caller's key is tied to; null for the root. */
export function toInnermost({ folderId, within }: Listed): string | null {
  return folderId === 'root' ? null : (folderId ?? within ?? null);
}

/**
 * From the root, under the project's name, to the listed folder; for a key tied to a folder, from that folder.
 * @param json what `breadcrumbsSql` answers
 * @throws Problem project_not_found, folder_not_found
 */
export function toBreadcrumbs({ folderId, within }: Listed, json: string | null): Breadcrumb[] {
  if (json === null) throw new Problem('project_not_found');
  const path: Breadcrumb[] = JSON.parse(json);
  if (folderId !== undefined && folderId !== 'root' && path.length === 1) throw new Problem('folder_not_found');
  if (!within) return path;
  const own = path.findIndex(({ id }) => id === within);
  if (own === -1) throw new Problem('folder_not_found');
  return path.slice(own);
}
