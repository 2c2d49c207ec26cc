// @ts-check
// Recording uploads, with the service (which asks the object store, and commits to disk before it answers) and with a bare
// node:http handler, which does neither. The uploads themselves happen before anything is timed.
import { bench } from './harness/cleanup.mjs';
import { compare, connections, describeMachine, quick, rounds } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startBareServer, startService } from './harness/service.mjs';

const perRound = quick ? 200 : 1500;

await bench(async () => {
  describeMachine();
  const bare = await startBareServer();
  await onEachDatabase(async (database) => {
    const service = await startService(database);
    const { projectIds, authorization } = await signUp(service.url, ['Bench']);
    // One round more than measured: the first is the warm-up.
    const bodies = await upload(service.url, projectIds[0] ?? '', authorization, perRound * (rounds + 1));
    const request = { path: '/api/storage/record', headers: { 'content-type': 'application/json', authorization } };
    await compare(`record, ${database.name}`, [
      { name: 'bare', process: bare, ...request, nextBody: cycle(bodies) },
      { name: 'service', process: service, ...request, nextBody: once(bodies), amount: perRound },
    ]);
    await service.stop();
  });
});

/**
 * @param {string} url
 * @param {string} projectId
 * @param {string} authorization
 * @param {number} count
 * @returns {Promise<string[]>} the bodies with which the uploads are to be recorded
 */
async function upload(url, projectId, authorization, count) {
  /** @type {string[]} */
  const bodies = [];
  let started = 0;
  const uploadOnes = async () => {
    while (started < count) {
      started += 1;
      const file = { fileName: `photo ${started}.jpg`, mimeType: 'image/jpeg', fileSize: 64, folderId: null };
      const presigned = await post(`${url}/api/storage/presign`, { projectId, ...file }, { authorization });
      const { presignedUrl, storeKey } = presigned;
      const answer = await fetch(presignedUrl, { method: 'PUT', body: Buffer.alloc(file.fileSize, started % 256) });
      if (answer.status !== 200) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
      bodies.push(JSON.stringify({ projectId, storeKey, ...file }));
    }
  };
  await Promise.all(Array.from({ length: connections }, uploadOnes));
  return bodies;
}

/** @param {string[]} bodies */
function cycle(bodies) {
  let next = 0;
  return () => bodies[next++ % bodies.length] ?? '';
}

/** @param {string[]} bodies */
function once(bodies) {
  let next = 0;
  return () => {
    const body = bodies[next++];
    // A repeated recording would be answered without a write.
    if (body === undefined) throw new Error('More records than uploads');
    return body;
  };
}
