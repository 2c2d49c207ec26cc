// @ts-check
// Presigned addresses beside a client that moves folders as fast as one key may (12,000 changes a minute), while the service
// remembers 100,000 folders of another project: each move makes it forget those of one. Moves also cost what they do
// themselves, so the same is measured with nothing remembered. Reach: 0.9 of that, and 0.9 of what it signs alone on a
// machine with cores to spare for the client and the database. Filling the cache takes minutes on the embedded database;
// BENCH_DATABASE=postgres leaves that out.
import { createHash } from 'node:crypto';
import autocannon from 'autocannon';
import { bench } from './harness/cleanup.mjs';
import { connections, describeMachine, median, quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startService } from './harness/service.mjs';
import { insertTrees } from './harness/tree-of-files.mjs';

const folders = quick ? 5_000 : 100_000;
const seconds = quick ? 1 : 4;
const movesPerSecond = 200;

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database) => {
    const first = await startService(database);
    const { projectIds, authorization } = await signUp(first.url, ['Remembered', 'Moved']);
    const [remembered = '', projectId = ''] = projectIds;
    await first.stop();
    await insertTrees(database, [{ projectId: remembered, files: 0, folders }]);
    const service = await startService(database);
    const headers = { 'content-type': 'application/json', authorization };
    /** @param {string} name */
    const makeFolder = async (name) =>
      (await post(`${service.url}/api/storage/folders`, { projectId, name, parentId: null }, headers)).id;
    const [folderId, intoId] = [await makeFolder('Moved'), await makeFolder('Outer')];

    /** @param {(client: import('autocannon').Client) => void} [setupClient] @param {number} [amount] */
    const presign = async (setupClient, amount) => {
      const result = await autocannon({
        url: `${service.url}/api/storage/presign`,
        connections,
        ...(amount ? { amount } : { duration: seconds }),
        method: 'POST',
        headers,
        body: toBody(projectId, null),
        ...(setupClient ? { setupClient } : {}),
      });
      if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx} answers were not 200`);
      return result.requests.average;
    };

    const besideMoves = async () => {
      const figures = {
        alone: /** @type {number[]} */ ([]),
        beside: /** @type {number[]} */ ([]),
        moves: /** @type {number[]} */ ([]),
      };
      await presign();
      for (let round = 0; round < rounds; round += 1) {
        figures.alone.push(await presign());
        const mover = move(`${service.url}/api/storage/folders/${folderId}`, headers, intoId);
        figures.beside.push(await presign());
        figures.moves.push((await mover.stop()) / seconds);
      }
      const ratios = figures.beside.map((rate, round) => rate / (figures.alone[round] ?? 0));
      console.log(
        `  alone ${toSpread(figures.alone, 0)} requests/s, beside ${toSpread(figures.moves, 0)} moves/s ${toSpread(figures.beside, 0)}: ${toSpread(ratios)} of alone`,
      );
      return median(ratios);
    };

    console.log(
      `\n## presign beside a client that moves folders, ${database.name}: nothing remembered, then ${folders}`,
    );
    const whenEmpty = await besideMoves();
    let next = 0;
    await presign((client) => {
      const setNext = () => client.setBody(toBody(remembered, toFolderId(remembered, 1 + (next++ % folders))));
      setNext();
      client.on('response', setNext);
    }, folders);
    const whenFull = await besideMoves();
    console.log(`  what forgetting leaves of it: ${(whenFull / whenEmpty).toFixed(2)}`);
    await service.stop();
  });
});

/** @param {string} projectId @param {string | null} folderId */
function toBody(projectId, folderId) {
  return JSON.stringify({ projectId, fileName: 'Ferien.jpg', mimeType: 'image/jpeg', fileSize: 4_321_000, folderId });
}

/** The id that `insertTrees` gives a folder. @param {string} projectId @param {number} number */
function toFolderId(projectId, number) {
  const time = (1_780_000_000_000 + number).toString(16).padStart(12, '0');
  const digest = createHash('md5').update(`${projectId}${number}`).digest('hex');
  const [a, b, c] = [digest.slice(0, 3), digest.slice(3, 6), digest.slice(6, 18)];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-8${b}-${c}`;
}

/**
 * Moves a folder into another and back to the root, again and again.
 * @param {string} url @param {Record<string, string>} headers @param {string} intoId
 * @returns {{ stop(): Promise<number> }} how many times it moved
 */
function move(url, headers, intoId) {
  let moves = 0;
  let isOver = false;
  const started = performance.now();
  const work = async () => {
    while (!isOver) {
      const body = JSON.stringify({ parentId: moves % 2 === 0 ? intoId : null });
      const answer = await fetch(url, { method: 'PATCH', headers, body });
      if (answer.status !== 200) throw new Error(`move: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
      moves += 1;
      const early = (moves / movesPerSecond) * 1000 - (performance.now() - started);
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    }
    if (moves % 2 === 1) await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ parentId: null }) });
    return moves;
  };
  const working = work();
  return {
    stop() {
      isOver = true;
      return working;
    },
  };
}
