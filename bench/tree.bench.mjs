// @ts-check
// A tree of a million files in a thousand folders, and one of ten files in ten folders: move, rename, counting by a dry run,
// delete, the trash, restore and empty, as requests. Target: each below a second.
import { bench } from './harness/cleanup.mjs';
import { describeMachine, median, quick, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startService } from './harness/service.mjs';
import { insertTrees } from './harness/tree-of-files.mjs';

const largest = Number(process.env.BENCH_FILES ?? (quick ? 20_000 : 1_000_000));
const trees = [
  { name: '10 files', files: 10, folders: 10 },
  { name: `${largest} files`, files: largest, folders: 1000 },
];
const times = quick ? 2 : 5;

/** @typedef {(method: string, path: string, body?: object) => Promise<any>} Call */

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database) => {
    const first = await startService(database);
    const { projectIds, authorization } = await signUp(
      first.url,
      trees.map(({ name }) => name),
    );
    await first.stop();
    const rootIds = await insertTrees(
      database,
      trees.map(({ files, folders }, index) => ({ projectId: projectIds[index] ?? '', files, folders })),
    );
    const service = await startService(database);
    const call = caller(service.url, authorization);
    console.log(`\n## trees of ${trees.map(({ name }) => name).join(' and ')}, ${database.name}`);
    const figures = [];
    for (const [index] of trees.entries())
      figures.push(await measure(call, projectIds[index] ?? '', rootIds[index] ?? ''));
    const [small, large] = figures;
    for (const [what, seconds] of Object.entries(large ?? {})) {
      const base = small?.[what] ?? [];
      const ratio = (median(seconds) / median(base)).toFixed(1);
      const milliseconds = (/** @type {number[]} */ of) =>
        toSpread(
          of.map((value) => value * 1000),
          1,
        );
      console.log(`  ${what}: ${milliseconds(seconds)} ms, of the small tree ${milliseconds(base)} ms, ratio ${ratio}`);
    }
    await service.stop();
  });
});

/**
 * Each request several times, in an order that restores the tree in the end.
 * @param {Call} call
 * @param {string} projectId
 * @param {string} rootId
 * @returns {Promise<Record<string, number[]>>} seconds
 */
async function measure(call, projectId, rootId) {
  const { id: targetId } = await call('POST', '/api/storage/folders', { projectId, name: 'Target', parentId: null });
  const path = `/api/storage/folders/${rootId}`;
  const bulk = { projectId, fileIds: [], folderIds: [rootId], dryRun: true };
  const trash = `/api/storage/trash?projectId=${projectId}`;
  /** @type {[string, () => Promise<unknown>][]} */
  const steps = [
    ['move', () => call('PATCH', path, { parentId: targetId })],
    ['move back', () => call('PATCH', path, { parentId: null })],
    ['rename', () => call('PATCH', path, { name: `Renamed ${Math.random()}` })],
    ['dry run of a bulk deletion', () => call('POST', '/api/storage/bulk', { ...bulk, action: 'delete' })],
    ['delete', () => call('DELETE', `${path}?recursive=true`)],
    ['list the trash', () => call('GET', trash)],
    ['dry run of a bulk restoration', () => call('POST', '/api/storage/bulk', { ...bulk, action: 'restore' })],
    ['restore', () => call('POST', `${path}/restore`)],
  ];
  /** @type {Record<string, number[]>} */
  const seconds = {};
  for (let time = 0; time < times; time += 1) {
    for (const [what, step] of steps) seconds[what] = [...(seconds[what] ?? []), await inSeconds(step)];
  }
  await call('DELETE', `${path}?recursive=true`);
  seconds['empty the trash (once)'] = [await inSeconds(() => call('DELETE', trash))];
  return seconds;
}

/** @param {() => Promise<unknown>} step */
async function inSeconds(step) {
  const started = performance.now();
  await step();
  return (performance.now() - started) / 1000;
}

/**
 * @param {string} url
 * @param {string} authorization
 * @returns {Call}
 */
function caller(url, authorization) {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
}
