// @ts-check
// Presigned upload URLs, from the service, from a bare node:http handler, and from one that does the necessary work by
// hand. Target: 0.75 of the bare handler.
import { bench } from './harness/cleanup.mjs';
import { compare, describeMachine } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startBareServer, startService } from './harness/service.mjs';

await bench(async () => {
  describeMachine();
  const bare = await startBareServer();
  await onEachDatabase(async (database) => {
    const service = await startService(database);
    const { projectIds, authorization } = await signUp(service.url, ['Bench']);
    const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };
    const request = {
      path: '/api/storage/presign',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ projectId: projectIds[0], ...file }),
    };
    await compare(`presign, ${database.name}`, [
      { name: 'bare', process: bare, ...request },
      { name: 'by hand', process: bare, ...request, path: '/by-hand/presign' },
      { name: 'service', process: service, ...request },
    ]);
    await service.stop();
  });
});
