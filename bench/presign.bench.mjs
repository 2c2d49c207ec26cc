// @ts-check
// Presigned upload URLs, from the service, from a bare node:http handler, and from two that do the necessary work by hand:
// one only that, the other with all the checks and headers of the service. Target: 0.85 of the latter.
// And a hundred at once: its figures are for each URL. Target: three times what the bare handler answers.
// Three processes of each take turns.
import { bench } from './harness/cleanup.mjs';
import { compare, describeMachine, quick } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startBareServer, startService } from './harness/service.mjs';

/** @typedef {import('./harness/databases.mjs').BenchDatabase} BenchDatabase */

const processes = quick ? 1 : 3;
const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };

/**
 * @param {BenchDatabase} database
 * @returns {Promise<import('./harness/compare.mjs').Side[]>}
 */
async function startSides(database) {
  const bare = await startBareServer();
  const service = await startService(database);
  const { projectIds, authorization } = await signUp(service.url, ['Bench']);
  const [projectId] = projectIds;
  const request = {
    path: '/api/storage/presign',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ projectId, ...file }),
  };
  return [
    { name: 'bare', process: bare, ...request },
    { name: 'by hand', process: bare, ...request, path: '/by-hand/presign' },
    { name: 'by hand, whole', process: bare, ...request, path: '/by-hand-whole/presign' },
    { name: 'service', process: service, ...request },
    {
      name: 'service, by hundreds',
      process: service,
      ...request,
      path: '/api/storage/presign/batch',
      body: JSON.stringify({ projectId, files: Array.from({ length: 100 }, () => file) }),
      things: 100,
    },
  ];
}

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database, another) => {
    const first = await startSides(database);
    /** @type {(typeof first)[]} */
    const others = [];
    while (others.length + 1 < processes) others.push(await startSides(await another()));
    const sides = first.map((side, index) => ({ ...side, replicas: others.flatMap((one) => one[index] ?? []) }));
    await compare(`presign, ${database.name}`, sides, 3);
    for (const { process } of [first, ...others].flat()) await process.stop();
  });
});
