import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Library, openLibrary } from '../../test/library.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { requireOwnObjects } from './left-behind.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService();
  library = await openLibrary(service);
});
afterAll(() => service.close());

const start = () => {
  const { db, objects, config, log } = service.deps;
  return requireOwnObjects(db.kysely, objects, config, log);
};

test('a purge that was killed between objects and rows does not keep the service from starting', async () => {
  const folderId = await library.folder();
  const [file, inside] = [await library.file(), await library.file(folderId)];
  await service.deps.objects.remove([file.storeKey, inside.storeKey]);
  await expect(start()).rejects.toThrow('has none of the 2 that were looked for');
  await library.call('DELETE', `/api/storage/files/${file.id}`);
  await expect(start()).rejects.toThrow('has none of the 1 that were looked for');
  await library.call('DELETE', `/api/storage/folders/${folderId}?recursive=true`);
  await start();
});
