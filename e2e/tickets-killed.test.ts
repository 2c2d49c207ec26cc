import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../packages/server/src/db/open.ts';
import { readConfig } from '../packages/server/src/settings/config.ts';
import { series } from '../scripts/series.mjs';
import { signUp } from './client-account.ts';
import { cleanUp, type Settings, startService, testedSettings } from './service.ts';

/** Most of a round is a start of the service, which takes the embedded database longer: it has to recover. */
const rounds = series({ full: 100, ci: 6, short: 2 });
/**
 * Reading takes a recovery of its own, so not every round reads. Nothing is missed: budgets are only ever added to and
 * taken from, so one that is wrong stays wrong.
 */
const roundsBetweenReads = series({ full: 10, ci: 3, short: 1 });
const clients = 12;
const bytes = Buffer.from('bytes');

let settings: Settings = {};
afterEach(() => cleanUp(settings));

interface Sums {
  files: number;
  bytes: number;
  filesOfRows: number;
  bytesOfRows: number;
}

/** What the tickets count, and what their reservations and files add up to, read while no service runs. */
async function readSums(): Promise<Sums[]> {
  const db = await openDatabase(readConfig(settings).database);
  try {
    const { rows } = await db.pool.query<Sums>(`
      select used_files as files, used_bytes as bytes,
             reserved.files + recorded.files as "filesOfRows", reserved.bytes + recorded.bytes as "bytesOfRows"
      from tickets cross join lateral (
        select count(*)::int as files, coalesce(sum(bytes), 0)::bigint as bytes
        from ticket_reservations where ticket_id = tickets.id and state in ('reserved', 'refused')
      ) reserved cross join lateral (
        select count(*)::int as files, coalesce(sum(file_size), 0)::bigint as bytes from files where ticket_id = tickets.id
      ) recorded`);
    return rows;
  } finally {
    await db.close();
  }
}

test(`kill -9 leaves each budget equal to what is reserved and recorded, ${rounds} times (checklist 52)`, {
  timeout: rounds * 30_000 + 60_000,
}, async () => {
  settings = { ...(await testedSettings()), RATE_LIMITS: 'off' };
  let service = await startService(settings);
  const cookie = await signUp(service.url);
  const ask = async (path: string, body: object, headers: Record<string, string>, method = 'POST') => {
    const init = { method, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
    const answer = await fetch(service.url + path, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const projectId = (await ask('/api/projects', { name: 'P' }, { Cookie: cookie })).body.id;
  let used = 0;

  for (let round = 0; round < rounds; round++) {
    const wanted = { projectId, folderId: null, maxFiles: 10_000, maxBytes: 1e9 };
    const { ticket } = (await ask('/api/storage/tickets', wanted, { Cookie: cookie })).body;
    const headers = { Authorization: `Bearer ${ticket}` };
    const facts = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: bytes.length, folderId: null };
    let isKilled = false;
    let begun = 0;
    const steps = [
      () => ask('/api/storage/presign', facts, headers),
      async () => {
        const { body } = await ask('/api/storage/presign', facts, headers);
        await fetch(body.presignedUrl ?? '', { method: 'PUT', body: bytes });
        await ask('/api/storage/record', { ...facts, storeKey: body.storeKey }, headers);
      },
      async () => {
        const { body } = await ask('/api/storage/uploads', facts, headers);
        await ask(`/api/storage/uploads/${body.uploadId}`, {}, headers, 'DELETE');
      },
    ];
    const client = async (n: number) => {
      for (let i = n; !isKilled; i++) {
        begun += 1;
        // Whatever is under way breaks off when the service is killed.
        await steps[i % steps.length]?.().catch((error: unknown) => {
          if (!isKilled) throw error;
        });
      }
    };
    const all = Array.from({ length: clients }, (_, n) => client(n));
    while (begun < clients * 3) await delay(5);
    await delay(Math.random() * 200);
    isKilled = true;
    service.signal('SIGKILL');
    await Promise.all([service.exit, ...all]);

    if ((round + 1) % roundsBetweenReads === 0) {
      const sums = await readSums();
      expect(sums).toHaveLength(round + 1);
      for (const sum of sums) expect(sum).toMatchObject({ files: sum.filesOfRows, bytes: sum.bytesOfRows });
      used = sums.reduce((files, sum) => files + sum.files, 0);
    }
    service = await startService(settings);
  }
  expect(used).toBeGreaterThan(rounds * 2);
  service.signal('SIGKILL');
  await service.exit;
});
