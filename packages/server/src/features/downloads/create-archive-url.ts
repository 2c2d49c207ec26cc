import type { ArchiveRequest, DownloadUrl } from '@cadiz/contract';
import type { z } from 'zod';
import { type Caller, toAsker } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toArchiveName } from './archive-names.ts';
import { findSelected, type Selected } from './archive-tree.ts';

/**
 * Creates a URL at the service that makes and serves one ZIP of files and folders, or of the whole project if none
 * are named, without anything uploaded after this. It ends with the key or session that asked for it. Its signed token
 * says what it contains and for whom; no row is written.
 */
export async function createArchiveUrl(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'archiveLinks' | 'now'>,
  caller: Caller,
  request: z.output<typeof ArchiveRequest>,
): Promise<z.output<typeof DownloadUrl>> {
  const project = await openProject(deps, caller, request.projectId, 'files:read');
  const fileIds = [...new Set(request.fileIds)];
  const isAll = fileIds.length + request.folderIds.length === 0;
  // For a key tied to a folder, that folder is everything.
  const folderIds = isAll && project.within !== null ? [project.within] : [...new Set(request.folderIds)];
  const selected = await findSelected(deps, project, fileIds, folderIds);
  if (selected.files.length < fileIds.length) throw new Problem('file_not_found');
  if (selected.folders.length < folderIds.length) throw new Problem('folder_not_found');

  const madeAt = Math.max(deps.now(), await readLatestRecordTime(deps, project));
  const expiresAt = Math.floor(deps.now() / 1000) + request.expiresIn;
  const token = deps.archiveLinks.sign({
    asker: toAsker(caller),
    projectId: project.id,
    fileIds,
    folderIds,
    name: toArchiveName(request.name ?? (await nameOf(deps, project, selected))),
    madeAt,
    expiresAt,
  });
  return {
    url: `${deps.config.publicUrl}/api/storage/archives/${token}`,
    expiresAt: new Date(expiresAt * 1000).toISOString(),
  };
}

/**
 * When the last file of the project was recorded, in milliseconds since 1970. It can be in the future if a process
 * whose clock runs ahead recorded it: a file that already exists must not be missing from the archive.
 */
async function readLatestRecordTime({ db }: Pick<Deps, 'db'>, project: OpenProject<'files:read'>): Promise<number> {
  const row = await db.kysely
    .selectFrom('files')
    .select('created_at')
    .where('project_id', '=', project.id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.created_at.getTime() ?? 0;
}

/** The single folder's name, or the project's, or that of the folder that the caller's key is tied to. */
async function nameOf(
  { db }: Pick<Deps, 'db'>,
  { id, within }: OpenProject<'files:read'>,
  { folders, files }: Selected,
): Promise<string> {
  const [folder] = folders;
  if (folder && folders.length === 1 && files.length === 0) return folder.name;
  const row = await (within === null
    ? db.kysely.selectFrom('projects').select('name').where('id', '=', id)
    : db.kysely.selectFrom('folders').select('name').where('project_id', '=', id).where('id', '=', within)
  ).executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  return row.name;
}
