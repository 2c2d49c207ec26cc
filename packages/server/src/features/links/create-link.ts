import type { Input } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type Caller, toMaker } from '../../access/caller.ts';
import { requireScope } from '../../access/open-project.ts';
import { toExpiry } from '../../access/to-expiry.ts';
import { keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { findRefusal } from '../../images/open-variant.ts';
import { resolvePreset } from '../../images/presets.ts';
import { requireImages, toRefused } from '../../images/require-images.ts';
import { Problem } from '../../problem.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { openFile } from '../../tree/open-file.ts';
import { type LinkView, toLinkView } from './link-view.ts';

/** Keeps a file from being replaced until the transaction ends: what replaces it takes along the links that it sees. */
async function keepInSight(trx: Transaction<Schema>, projectId: string, fileId: string): Promise<boolean> {
  const query = trx.selectFrom('files').select('id').where('project_id', '=', projectId).where('id', '=', fileId);
  return (await query.where(whereInSight).forShare().executeTakeFirst()) !== undefined;
}

/** Creates a link to a file, which anyone who has its URL can use. It outlives whoever created it. */
export async function createLink(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'images' | 'linkTokens' | 'now'>,
  caller: Caller,
  { fileId, disposition, image = null, expiresAt: until }: Input<'createLink'>,
): Promise<LinkView> {
  // Otherwise a key that may only upload could read what it links to.
  requireScope(caller, 'files:read');
  const expiresAt = toExpiry(until, deps.now());
  const { project, file } = await openFile(deps, caller, fileId, 'files:write');
  if (image) {
    requireImages(deps);
    await resolvePreset(deps, project.id, image, 'image.preset');
    const refusal = findRefusal(deps, file);
    if (refusal) throw toRefused(refusal);
  }
  const at = deps.now();
  const row = {
    project_id: project.id,
    id: uuidv7({ msecs: at }),
    file_id: fileId,
    disposition,
    image: image && JSON.stringify(image),
    expires_at: expiresAt,
    ...toMaker(caller),
    created_at: new Date(at),
  };
  await deps.db.transaction(async (trx) => {
    if (!(await keepProject(trx, project.id)) || !(await keepInSight(trx, project.id, fileId))) {
      throw new Problem('file_not_found');
    }
    await trx.insertInto('links').values(row).execute();
    const expires = expiresAt?.toISOString() ?? null;
    const subject = { linkId: row.id, fileId, fileName: file.file_name, disposition, expiresAt: expires };
    await recordEvent(trx, at, { type: 'link.created', projectId: project.id, by: caller, subject });
  });
  return toLinkView(deps, { ...row, image }, { name: file.file_name, isInSight: true });
}
