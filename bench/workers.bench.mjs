// @ts-check
// The CPU time of a request, on PostgreSQL, with connections that are kept: of one process; of two processes on one database, without
// anything in common; and of two workers and their parent together. Target: at most 1.1 times that of one process. What two
// processes cost more is not the price of WORKERS.
import { openStore } from '@cadiz/store';
import { atEnd, bench } from './harness/cleanup.mjs';
import { compare, connections, describeMachine } from './harness/compare.mjs';
import { cpuOfFamily } from './harness/cpu-time.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

await bench(async () => {
  describeMachine();
  const keys = { accessKeyId: 'WORKERSBENCH', secretAccessKey: 'a secret of the workers bench' };
  const store = await openStore({ ...keys, dataDir: await temporaryFolder(), host: '127.0.0.1', port: 0 });
  atEnd(() => store.close({ drainMilliseconds: 0 }));
  await onEachDatabase(async (database, another) => {
    // The embedded database is open to one process only.
    if (!database.url) return;
    const shared = {
      S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
      S3_BUCKET: 'cadiz',
      S3_ACCESS_KEY_ID: keys.accessKeyId,
      S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
    };
    const start = async (/** @type {string} */ name, { workers = 1, processes = 1 } = {}) => {
      const own = await another();
      const settings = { ...shared, WORKERS: String(workers), CADIZ_SECRET: 'c'.repeat(64) };
      const service = await startService(own, undefined, settings);
      const { projectIds, authorization } = await signUp(service.url, ['Bench']);
      const other = processes > 1 ? await startService(own, undefined, settings) : undefined;
      const all = [service, ...(other ? [other] : [])];
      const used = async () => ({
        cpuMicroseconds: all.reduce((sum, { pid }) => sum + cpuOfFamily(pid), 0),
        rssBytes: 0,
      });
      const stop = async () => {
        for (const one of all) await one.stop();
      };
      return {
        name,
        process: { ...service, used, stop },
        ...(other ? { besides: other.url } : {}),
        headers: { 'content-type': 'application/json', authorization },
        // As many for each worker: one that has fewer does less in each turn of its event loop, and more turns.
        connections: connections * workers,
        projectId: projectIds[0],
      };
    };
    const sides = [
      await start('one process'),
      await start('two processes', { processes: 2 }),
      await start('two workers', { workers: 2 }),
    ];
    const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };
    const presign = sides.map(({ projectId, ...side }) => ({
      ...side,
      path: '/api/storage/presign',
      body: JSON.stringify({ projectId, ...file }),
    }));
    await compare('presign', presign, 2);
    const list = sides.map(({ projectId, ...side }) => ({ ...side, path: `/api/storage/list?projectId=${projectId}` }));
    await compare('list', list, 2);
    for (const side of sides) await side.process.stop();
  });
});
