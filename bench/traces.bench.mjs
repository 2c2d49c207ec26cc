// @ts-check
// What a presign costs with traces: off, with one of a hundred recorded, and off for a client that sends a traceparent with each
// request. Targets for CPU: off within 2 % of a version without them (BENCH_BASELINE=<a built checkout>), and 1 % at most 3 % more than off.
import { createServer } from 'node:http';
import { atEnd, bench } from './harness/cleanup.mjs';
import { compare, describeMachine } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { freePort } from './harness/measured-process.mjs';
import { signUp, startService } from './harness/service.mjs';

const earlier = process.env.BENCH_BASELINE;

await bench(async () => {
  describeMachine();
  const collector = await startCollector();
  await onEachDatabase(async (_, another) => {
    const start = async (
      /** @type {string} */ name,
      /** @type {Record<string, string>} */ settings = {},
      /** @type {Record<string, string>} */ more = {},
      /** @type {string | undefined} */ root = undefined,
    ) => {
      const service = await startService(await another(), root, settings);
      const { projectIds, authorization } = await signUp(service.url, ['Bench']);
      const file = { fileName: 'Ferien am Meer 2026.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId: null };
      return {
        name,
        process: service,
        path: '/api/storage/presign',
        headers: { 'content-type': 'application/json', authorization, ...more },
        body: JSON.stringify({ projectId: projectIds[0], ...file }),
      };
    };
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACE_RATIO: '0.01' };
    const sides = [
      ...(earlier ? [await start('without', {}, {}, earlier)] : []),
      await start('off'),
      await start('1 %', traced),
      await start('off, with a traceparent', {}, { traceparent }),
    ];
    const before = collector.batches;
    await compare('presign', sides, earlier ? 2 : 1);
    console.log(`  batches of spans that were sent: ${collector.batches - before}`);
    for (const side of sides) await side.process.stop();
  });
});

/** Takes everything, and keeps nothing. */
async function startCollector() {
  const port = await freePort();
  const collector = { url: `http://127.0.0.1:${port}`, batches: 0 };
  const server = createServer((request, response) => {
    collector.batches += 1;
    request.resume().on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  atEnd(async () => void server.close());
  return collector;
}
