import type { Input, PresignResponse } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { discountPresigned } from '../../limits/count-presigned.ts';
import { type AllowedUpload, requireWithinLimits } from '../../limits/require-within-limits.ts';
import { attempt, type Outcome, Problem, requireAll, settle } from '../../problem.ts';
import { requireFileSize, signUpload } from './presign-upload.ts';

type Request = Input<'presignBatch'>;
type Entry = Request['files'][number];
type Upload = z.output<typeof PresignResponse>;

/** A file with the proof that the project accepts it. */
interface Allowed {
  file: Entry;
  proof: AllowedUpload;
}

/**
 * Presigns many uploads into one project. What they have in common is looked up once: the project, and each folder.
 * @throws Problem as `presignUpload` does for the project; with `atomic`, also the first problem of an entry
 */
export async function presignBatch(
  deps: Pick<Deps, 'config' | 'objects' | 'access' | 'limits' | 'presigned' | 'now'>,
  caller: Caller,
  { projectId, files, atomic = false }: Request,
): Promise<{ results: ({ upload: Upload } | { problem: Problem })[] }> {
  const project = await openProject(deps, caller, projectId, 'files:write');
  const allowed = await allowEach(deps, project, files);
  const issuedAt = deps.now();
  const uploads = atomic
    ? signAll(deps, requireAll(allowed, 'files'), issuedAt)
    : allowed.map((one) => signOne(deps, one, issuedAt));
  return { results: uploads.map((upload) => (upload instanceof Problem ? { problem: upload } : { upload })) };
}

async function allowEach(
  deps: Pick<Deps, 'config' | 'access' | 'limits'>,
  project: OpenProject<'files:write'>,
  files: readonly Entry[],
): Promise<Outcome<Allowed>[]> {
  const folderIds = [...new Set(files.map(({ folderId }) => folderId))];
  const found = await Promise.all(folderIds.map((folderId) => settle(requireFolder(deps, project, folderId))));
  const folders = new Map(folderIds.map((folderId, index) => [folderId, found[index]]));
  const allow = async (file: Entry) => {
    requireFileSize(file.fileSize, deps.config.maxFileSizeBytes);
    return { file, proof: await requireWithinLimits(deps, project, file) };
  };
  return Promise.all(files.map((file) => folders.get(file.folderId) ?? settle(allow(file))));
}

function signOne(
  deps: Pick<Deps, 'objects' | 'presigned'>,
  allowed: Outcome<Allowed>,
  issuedAt: number,
): Outcome<Upload> {
  if (allowed instanceof Problem) return allowed;
  return attempt(() => signUpload(deps, allowed.proof, allowed.file, issuedAt));
}

/** @throws Problem the first one; what was counted for the others is taken back */
function signAll(deps: Pick<Deps, 'objects' | 'presigned'>, allowed: readonly Allowed[], issuedAt: number): Upload[] {
  const uploads = allowed.map((one) => signOne(deps, one, issuedAt));
  try {
    return requireAll(uploads, 'files');
  } catch (problem) {
    for (const [index, { proof }] of allowed.entries()) {
      if (!(uploads[index] instanceof Problem)) discountPresigned(deps, proof, issuedAt);
    }
    throw problem;
  }
}
