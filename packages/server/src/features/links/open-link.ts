import type { Deps } from '../../deps.ts';
import { type ImageView, toKnownSql } from '../../images/image-view.ts';
import type { Options } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import { fileInSight } from '../../tree/in-sight.ts';

/** The file behind a link, as it is now. */
export interface LinkedFile {
  linkId: string;
  projectId: string;
  storeKey: string;
  fileName: string;
  mimeType: string;
  /** What its first bytes are; null if they do not show it, or have not been examined. */
  detectedMimeType: string | null;
  /** Whether an earlier version has left its first bytes to be examined. */
  isUnexamined: boolean;
  fileSize: number;
  etag: string;
  disposition: 'inline' | 'attachment';
  expiresAt: Date | null;
  fileId: string;
  /** The form in which the link serves an image, if it was made with one. */
  options: Options | null;
  /** Whatever type it was given: of a picture that does not claim to be one, too. */
  image: ImageView | null;
  stripLocation: 'never' | 'links';
}

const sql = `
  select links.id as "linkId", links.project_id as "projectId", store_key as "storeKey", file_name as "fileName",
         mime_type as "mimeType", detected_mime_type as "detectedMimeType", content_check = 'pending' as "isUnexamined", file_size as "fileSize", etag, disposition, expires_at as "expiresAt", file_id as "fileId", links.image as options,
         ${toKnownSql('files')} as image, strip_location as "stripLocation"
  from links join files on files.project_id = links.project_id and files.id = links.file_id
    join projects on projects.id = links.project_id
  where links.id = $1 and ${fileInSight}`;

/**
 * The file that a token leads to. One look-up for each request, and nothing is remembered: a deleted link is dead at
 * once, in every process. A made-up token takes no look-up. Whatever the reason, the problem is the same.
 */
export async function openLink(deps: Pick<Deps, 'db' | 'linkTokens' | 'now'>, token: string): Promise<LinkedFile> {
  const id = deps.linkTokens.open(token);
  if (!id) throw new Problem('link_not_found');
  return requireLinked(deps, id);
}

/** @throws Problem link_not_found */
export async function requireLinked(deps: Pick<Deps, 'db' | 'now'>, linkId: string): Promise<LinkedFile> {
  const file = await findLinked(deps, linkId);
  if (!file) throw new Problem('link_not_found');
  return file;
}

/** Undefined if the link is deleted or has expired, or its file is not in sight. */
export async function findLinked(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  linkId: string,
): Promise<LinkedFile | undefined> {
  const { rows } = await db.pool.query<LinkedFile>({ name: 'open-link', text: sql, values: [linkId] });
  const [file] = rows;
  return file && (file.expiresAt === null || file.expiresAt.getTime() > now()) ? file : undefined;
}
