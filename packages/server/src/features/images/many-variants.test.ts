import { createImageMaker, type ImageMaker } from '@cadiz/images';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { requireDrained } from '../../../test/drain-work.ts';
import { type Library, openLibrary } from '../../../test/library.ts';
import { send, startTestService, type TestService } from '../../../test/service.ts';
import { makeVariantKey, toVariantsPrefix } from '../../images/image-key.ts';
import { createJobs } from '../../jobs/jobs.ts';
import { purgeTrash } from '../trash/purge-trash.ts';
import { removeVariants } from './remove-variants.ts';

const howMany = series({ full: 10_000, short: 1200 });
const hour = 3600_000;
const never = new AbortController().signal;

let images: ImageMaker;
let service: TestService;
let library: Library;

beforeAll(async () => {
  images = createImageMaker();
  service = await startTestService({ images });
  library = await openLibrary(service);
});
afterAll(async () => {
  await service.close();
  await images.close();
});

async function record(fileName: string): Promise<string> {
  const { key, projectId } = library;
  const recording = await service.upload({ key }, projectId, Buffer.from(fileName), {
    fileName,
    mimeType: 'image/jpeg',
  });
  const { status, body, text } = await service.call('POST', '/api/storage/record', { key, body: recording });
  expect(status, text).toBe(200);
  return body.id;
}

/** Rows and objects as the service makes them, with a byte each in place of an image. */
async function fill(fileId: string, count: number): Promise<void> {
  const keys = Array.from({ length: count }, () => makeVariantKey(library.projectId, fileId, 'webp', Date.now()));
  await service.deps.db.pool.query(
    `insert into image_variants (project_id, store_key, file_id, spec, state, content_type, etag, bytes, used_on)
     select $1, store_key, $2, 'w' || place, 'ready', 'image/webp', '', 1, current_date
     from unnest($3::text[]) with ordinality as made (store_key, place)`,
    [library.projectId, fileId, keys],
  );
  const limit = pLimit(32);
  await limit.map(keys, async (key) => {
    const { status } = await send('PUT', service.deps.objects.presignOwnPut(key, 1, 300), Buffer.from('x'));
    if (status !== 200) throw new Error(`PUT: ${status}`);
  });
}

async function countObjects(fileId: string): Promise<number> {
  let [count, startAfter] = [0, ''];
  for (;;) {
    const prefix = `${toVariantsPrefix(library.projectId)}${fileId}/`;
    const { objects, more } = await service.deps.objects.list(prefix, startAfter === '' ? {} : { startAfter });
    count += objects.length;
    if (!more) return count;
    startAfter = objects.at(-1)?.storeKey ?? '';
  }
}

async function countRows(fileId: string): Promise<number> {
  const { rows } = await service.deps.db.pool.query('select 1 from image_variants where file_id = $1', [fileId]);
  return rows.length;
}

test(`of ${howMany} variants, no job removes one, and none is left of a file that is purged`, async () => {
  const [kept, gone] = [await record('kept.jpg'), await record('gone.jpg')];
  await fill(kept, 3);
  await fill(gone, howMany);
  service.advance(26 * hour);
  for (const { name, run } of createJobs(service.deps))
    if (['sweep', 'trash', 'variants', 'expired'].includes(name)) await run(never, () => undefined);
  const path = `/api/projects/${library.projectId}/reconcile`;
  const started = await service.call('POST', path, { as: library.ada, body: { dryRun: false } });
  expect(started.status, started.text).toBe(200);
  await requireDrained(service, ['reconciliation']);
  const { body } = await service.call('GET', path, { as: library.ada });
  expect(body).toMatchObject({ state: 'done', orphans: { count: 0 }, foreign: { count: 0 }, missing: { count: 0 } });
  expect([await countObjects(gone), await countRows(gone)]).toEqual([howMany, howMany]);

  await library.call('DELETE', `/api/storage/files/${gone}`);
  await library.call('DELETE', `/api/storage/trash?projectId=${library.projectId}`);
  await purgeTrash({ ...service.deps, now: () => service.deps.now() + 2 * hour }, 1000);
  expect(await removeVariants(service.deps, never)).toBe(howMany);
  expect([await countObjects(gone), await countRows(gone)]).toEqual([0, 0]);
  expect([await countObjects(kept), await countRows(kept)]).toEqual([3, 3]);
});
