// @ts-check
// Events: how many a second are numbered and reach a stream when many wait in the outbox, how long one takes from its commit to a
// reader of the stream, and what a thousand readers cost in memory. What recording a file costs with its event is in the bench
// `record`, with BENCH_BASELINE=<a built checkout from before events>. Targets: 10,000 a second, 250 ms (p99), 60 MB.
import http from 'node:http';
import pg from 'pg';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, quick } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const waiting = quick ? 2000 : 50_000;
const changes = quick ? 30 : 300;
const readers = quick ? 100 : 1000;

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database) => {
    console.log(`\n## ${database.name}`);
    const service = await startService(database);
    const { projectIds, authorization } = await signUp(service.url, ['Bench']);
    const [projectId = ''] = projectIds;
    const feed = `${service.url}/api/storage/events?projectId=${projectId}`;
    const folder = (/** @type {string} */ name) =>
      post(`${service.url}/api/storage/folders`, { projectId, name, parentId: null }, { authorization });

    if (database.url) {
      const db = new pg.Client(database.url);
      await db.connect();
      const stream = await open(feed, authorization);
      await db.query(
        `insert into new_events (project_id, id, type, at, data)
         select $1::uuid, gen_random_uuid(), 'folder.purged', now(),
           json_build_object('id', gen_random_uuid(), 'projectId', $1::uuid, 'padding', repeat('x', 500))
         from generate_series(1, $2)`,
        [projectId, waiting],
      );
      const began = performance.now();
      await stream.until(waiting);
      const seconds = (performance.now() - began) / 1000;
      console.log(`${waiting} events that wait: ${Math.round(waiting / seconds)} a second to the stream`);
      stream.close();
      await db.end();
    }

    const stream = await open(`${feed}&after=latest`, authorization);
    /** @type {number[]} */
    const latencies = [];
    for (let n = 0; n < changes; n++) {
      await folder(`one ${n}`);
      const committed = performance.now();
      await stream.until(n + 1);
      latencies.push(stream.lastAt() - committed);
      // At any moment between two rounds of numbering.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
    }
    latencies.sort((one, other) => one - other);
    const at = (/** @type {number} */ share) =>
      Math.max(0, latencies[Math.floor(share * (changes - 1))] ?? 0).toFixed(0);
    console.log(`answer to stream: median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
    stream.close();

    const before = (await service.used()).rssBytes;
    const streams = [];
    for (let n = 0; n < readers; n++) streams.push(await open(`${feed}&after=latest`, authorization));
    await folder('for all');
    await Promise.all(streams.map((one) => one.until(1)));
    const grown = (await service.used()).rssBytes - before;
    console.log(`${readers} readers: ${(grown / 1024 ** 2).toFixed(0)} MB more memory`);
    for (const one of streams) one.close();
    await service.stop();
  });
});

/**
 * Reads a stream of events.
 * @param {string} url
 * @param {string} authorization
 */
async function open(url, authorization) {
  let count = 0;
  let last = 0;
  let text = '';
  /** @type {() => void} */
  let told = () => undefined;
  const request = http.get(url, {
    headers: { Accept: 'text/event-stream', Authorization: authorization },
    agent: false,
  });
  await new Promise((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.setEncoding('utf8').on('data', (piece) => {
        resolve(undefined);
        text += piece;
        const ended = text.lastIndexOf('\n\n');
        count += text.slice(0, ended + 1).match(/^data: /gm)?.length ?? 0;
        text = text.slice(ended + 1);
        last = performance.now();
        told();
      });
    });
  });
  return {
    /** @param {number} wanted how many events in all */
    async until(wanted) {
      while (count < wanted)
        await new Promise((resolve) => {
          told = () => resolve(undefined);
        });
    },
    lastAt: () => last,
    close: () => request.destroy(),
  };
}
