import { afterEach, beforeEach, expect, test } from 'vitest';
import { id, type Stub, startStub } from './stub.ts';

let stub: Stub;
beforeEach(async () => {
  stub = await startStub();
  stub.answers['/api/storage/list'] = { files: [], folders: [], breadcrumbs: [], nextCursor: null };
});
afterEach(() => stub.close());

/** Often the value of a form or of the query of a page, which may be missing. */
function find<T>(): T | undefined {
  return undefined;
}

test('an undefined limit is the default one, and not a listing of everything in one answer', async () => {
  await stub.client().files.page({ limit: find() });
  expect(stub.asked).toEqual([`GET /api/storage/list?projectId=${id}&limit=1000`]);
});

test('a URL of an image with an undefined disposition is shown', async () => {
  await stub.client().files.image(id, { w: 16 }, { disposition: find() });
  expect(stub.bodies).toEqual([{ disposition: 'inline', image: { w: 16 } }]);
});

test('every option can be undefined, also with exactOptionalPropertyTypes', async () => {
  const cadiz = stub.client();
  await cadiz.files.update(id, { fileName: find(), folder: find(), metadata: find(), externalId: find() });
  await cadiz.files.copy(id, { fileName: find(), folder: find() });
  await cadiz.files.archive({ fileIds: find(), folderIds: find(), name: find(), expiresIn: find() });
  await cadiz.files.deleteMany({ fileIds: [id], folderIds: find(), dryRun: find() });
  await cadiz.files.deleteMany({ select: { folder: null, search: find(), exceptIds: find() } });
  await cadiz.folders.update(id, { name: find(), parent: find() });
  await cadiz.links.create(id, { expiresAt: find(), disposition: find(), image: find() });
  await cadiz.links.page({ fileId: find() });
  await cadiz.keys.create('Key', { scopes: find(), folderId: find(), expiresAt: find() });
  await cadiz.keys.rotate(id, { overlapSeconds: find(), expiresAt: find() });
  await cadiz.events.page({ limit: find(), wait: find() });
  await cadiz.usage({ folder: find() });
  await cadiz.usageDaily({ from: find(), to: find() });
  await cadiz.request({ path: '/api/projects', method: find(), isOnce: find(), signal: find() });
  const ticket = { maxFileSize: find<number>(), mimeTypes: find<string[]>(), autoRecord: find<boolean>() };
  const limits = { expiresIn: find<number>(), origins: find<string[]>(), metadata: find<Record<string, string>>() };
  await cadiz.tickets.create({ maxFiles: 1, maxBytes: 1, ...ticket, ...limits });
  expect(stub.asked.join()).not.toContain('undefined');
});
