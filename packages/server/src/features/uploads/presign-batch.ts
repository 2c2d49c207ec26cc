import type { Input, PresignResponse } from '@cadiz/contract';
import type { z } from 'zod';
import type { TicketCaller, Uploader } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { discountPresigned } from '../../limits/count-presigned.ts';
import { openLimits } from '../../limits/require-within-limits.ts';
import { attempt, type Outcome, Problem, requireAll, settle } from '../../problem.ts';
import { requireNotEnded, requireWithinTicket } from '../../tickets/require-within-ticket.ts';
import { requireFileSize, signUpload } from './presign-upload.ts';
import { type Allowed, signAllReserved, signEachReserved } from './sign-reserved.ts';

type Request = Input<'presignBatch'>;
type Entry = Request['files'][number];
type Upload = z.output<typeof PresignResponse>;

/**
 * Presigns many uploads into one project. What they have in common is looked up once: the project, and each folder.
 */
export async function presignBatch(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'access' | 'limits' | 'presigned' | 'now'>,
  caller: Uploader,
  { projectId, files, atomic = false }: Request,
): Promise<{ results: ({ upload: Upload } | { problem: Problem })[] }> {
  requireNotEnded(deps, caller);
  const project = await openProject(deps, caller, projectId, 'files:write');
  const allowed = await allowEach(deps, caller, project, files);
  const uploads = await (caller.kind === 'ticket'
    ? signByTicket(deps, caller, allowed, atomic)
    : signByRights(deps, allowed, atomic));
  return { results: uploads.map((upload) => (upload instanceof Problem ? { problem: upload } : { upload })) };
}

function signByRights(
  deps: Pick<Deps, 'objects' | 'presigned' | 'now'>,
  allowed: readonly Outcome<Allowed>[],
  atomic: boolean,
): Outcome<Upload>[] {
  const issuedAt = deps.now();
  if (atomic) return signAll(deps, requireAll(allowed, 'files'), issuedAt);
  return allowed.map((one) => signOne(deps, one, issuedAt));
}

async function signByTicket(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'presigned' | 'now'>,
  caller: TicketCaller,
  allowed: readonly Outcome<Allowed>[],
  atomic: boolean,
): Promise<Outcome<Upload>[]> {
  const issuedAt = deps.now();
  if (atomic) return signAllReserved(deps, caller, requireAll(allowed, 'files'), issuedAt);
  const accepted = allowed.filter((one): one is Allowed => !(one instanceof Problem));
  const signed = await signEachReserved(deps, caller, accepted, issuedAt);
  const uploads = new Map<Outcome<Allowed>, Outcome<Upload>>();
  for (const [index, one] of accepted.entries()) {
    const upload = signed[index];
    if (upload) uploads.set(one, upload);
  }
  return allowed.map((one) => (one instanceof Problem ? one : (uploads.get(one) as Outcome<Upload>)));
}

async function allowEach(
  deps: Pick<Deps, 'config' | 'access' | 'limits'>,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  files: readonly Entry[],
): Promise<Outcome<Allowed>[]> {
  const folderIds = [...new Set(files.map(({ folderId }) => folderId))];
  const found = await Promise.all(folderIds.map((folderId) => settle(requireFolder(deps, project, folderId))));
  const folders = new Map(folderIds.map((folderId, index) => [folderId, found[index]]));
  const requireWithinLimits = await openLimits(deps, project);
  const allow = (file: Entry) => {
    requireFileSize(file.fileSize, deps.config.maxFileSizeBytes);
    requireWithinTicket(caller, file);
    return { file, proof: requireWithinLimits(file) };
  };
  return files.map((file) => folders.get(file.folderId) ?? attempt(() => allow(file)));
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
