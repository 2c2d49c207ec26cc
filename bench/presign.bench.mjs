// @ts-check
// Presigned upload URLs, from the service, from a bare node:http handler, and from two that do the necessary work by hand:
// one only that, the other with all the checks and headers of the service. Target: 0.85 of the latter.
// And a hundred at once: its figures are for each URL. Target: three times what the bare handler answers.
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
    const sides = [
      { name: 'bare', process: bare, ...request },
      { name: 'by hand', process: bare, ...request, path: '/by-hand/presign' },
      { name: 'by hand, whole', process: bare, ...request, path: '/by-hand-whole/presign' },
      { name: 'service', process: service, ...request },
      {
        name: 'service, by hundreds',
        process: service,
        ...request,
        path: '/api/storage/presign/batch',
        body: JSON.stringify({ projectId: projectIds[0], files: Array.from({ length: 100 }, () => file) }),
        things: 100,
      },
    ];
    await compare(`presign, ${database.name}`, sides, 3);
    await service.stop();
  });
});
