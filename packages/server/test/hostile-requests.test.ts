import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Listening } from '@cadiz/http-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { series } from '../../../scripts/series.mjs';
import { numberEvents } from '../src/events/number-events.ts';
import { createApp } from '../src/http/app.ts';
import { listen } from '../src/http/listen.ts';
import { findFault } from './hostile/judge.ts';
import { createRandom } from './hostile/random.ts';
import { type HostileRequest, toCurl, toHostileRequest } from './hostile/requests.ts';
import { BrokenAnswer, createSender, type HostileAnswer } from './hostile/send.ts';
import { prepareSubject, type Subject } from './hostile/subject.ts';
import { readColumns, readRows } from './rows.ts';
import { startTestService, type TestService } from './service.ts';

/**
 * The same choices in each run, so that only a change can break what passed before; another HOSTILE_SEED gives others.
 */
const seed = Number(process.env.HOSTILE_SEED ?? 1);
const howMany = Number(process.env.HOSTILE_REQUESTS ?? series({ full: 50_000, short: 2_000 }));
const atOnce = 32;
const aRound = 5_000;

let service: TestService;
let listening: Listening;
let subject: Subject;
let sender: ReturnType<typeof createSender>;
const faults: string[] = [];
const statuses: Record<string, number> = {};
const reached = new Map<string, Set<number>>();

beforeAll(async () => {
  // Counted, but never limited: requests refused for their number would get nowhere.
  const kinds = ['UPLOADS', 'READS', 'CHANGES', 'ADDRESS', 'INVALID_KEYS'];
  const limits = Object.fromEntries(kinds.map((kind) => [`RATE_LIMIT_${kind}`, '1000000000']));
  service = await startTestService({ settings: { ARCHIVES_AT_ONCE: '64', RATE_LIMITS: 'on', ...limits } });
  listening = await listen(createApp(service.deps), '127.0.0.1', 0);
  subject = await prepareSubject(service);
  sender = createSender(listening.port, atOnce);
});
afterAll(async () => {
  sender.close();
  await listening.close(0);
  await service.close();
});

beforeEach(() => {
  faults.length = 0;
});

/** Account operations may end the session that they come with, and checking passwords takes long. */
const isOfAccounts = ({ path }: { path: string }) =>
  !/^\/api\/(?:storage|projects|api-keys|invitations)|^\/api$/.test(path);

function makeRequest(index: number, only?: string): HostileRequest & { operationId: string } {
  const random = createRandom(seed * 1_000_003 + index);
  let operation = random.pick(subject.operations);
  while (operation.path.startsWith('/api/auth') && operation.body && random.chance(0.9))
    operation = random.pick(subject.operations);
  const request = toHostileRequest(random, operation, subject.surroundings);
  const names = Object.keys(subject.callers);
  // Half of the requests come from the most privileged caller, so that they get far.
  const name =
    only ??
    (random.chance(0.5) ? random.pick(operation.isForPeople ? ['owner'] : ['owner', 'tied']) : random.pick(names));
  const credentials = isOfAccounts(operation) && name !== 'none' ? subject.mayfly : subject.callers[name];
  return { ...request, headers: { ...credentials, ...request.headers }, operationId: operation.operationId };
}

/** What the log says if something in an archive has been deleted, renamed or moved since. */
const toldContentChanged = /of the archive are left|renamed or moved|is gone/;

/** What the log says if the project, or the account, session or key of whoever asked, has ended since. */
const toldAccessEnded =
  /"code":"(?:project_not_found|project_not_allowed|role_missing|session_required|invalid_api_key)"/;

async function attack(
  request: HostileRequest & { operationId: string },
  index: number,
): Promise<HostileAnswer | undefined> {
  const blame = (fault: string, text = '') =>
    faults.push(
      `seed ${seed}, request ${index}, ${request.operationId}: ${fault}\n  ${toCurl(request, `http://127.0.0.1:${listening.port}`)}\n  ${text.slice(0, 1500)}`,
    );
  try {
    const answer = await sender.send(request);
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    reached.set(request.operationId, (reached.get(request.operationId) ?? new Set()).add(answer.status));
    const fault = findFault(request, answer, subject.secrets);
    if (fault) blame(fault, `${answer.status} ${answer.text}${toldOf(answer)}`);
    else if (answer.status === 200 && answer.text.startsWith('{')) subject.learn(JSON.parse(answer.text));
    return answer;
  } catch (error) {
    const told = error instanceof BrokenAnswer ? await findBreak(error.requestId) : '';
    // An archive breaks off if something in it, or the access of whoever asked for it, ends while it is sent: half of it
    // must not look complete.
    const isRight = toldContentChanged.test(told) || toldAccessEnded.test(told);
    if (request.operationId !== 'downloadArchive' || !isRight) blame(String(error), told);
    return undefined;
  }
}

/** What the log says about a request. */
const findLogged = (requestId: string) =>
  service
    .logged()
    .split('\n')
    .filter((line) => line.includes(requestId));

/** What the log says about a failed request. */
function toldOf({ status, headers }: HostileAnswer): string {
  return status < 500 ? '' : `\n  ${findLogged(headers.get('x-request-id') ?? '').join('\n  ')}`;
}

/** What the log says about an answer that broke off, which may be written after the client has seen it. */
async function findBreak(requestId: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const lines = findLogged(requestId).filter((line) => line.includes('broke off'));
    if (lines.length > 0) return lines.join('\n  ');
    await delay(10);
  }
  return '';
}

function requireNoFault(): void {
  if (faults.length > 0) throw new Error(faults.slice(0, 5).join('\n\n'));
}

/** The rows once every event has its number, which asking for events gives them. */
async function readSettled(tables: string[], projectId?: string) {
  while ((await numberEvents(service.deps.db)) > 0);
  return readRows(service.deps.db, tables, projectId);
}

describe('hostile requests, made from the OpenAPI document (checklist 45; T9, T26, T27, T32)', () => {
  test('one at a time: a refused request changes nothing', async () => {
    // These change on their own, or record refused requests on purpose.
    const apart = ['sessions', 'jobs', 'verifications', 'rate_limits', 'sign_in_limits', 'audit_events'];
    const tables = [...(await readColumns(service.deps.db)).keys()].filter((table) => !apart.includes(table));
    let before = await readSettled(tables);
    for (let index = -1; index >= -Math.ceil(howMany / 50) && faults.length === 0; index--) {
      const request = makeRequest(index);
      const answer = await attack(request, index);
      const after = await readSettled(tables);
      const changed = tables.filter((table) => before[table] !== after[table]);
      if (answer && answer.status >= 400 && changed.length > 0) {
        faults.push(
          `seed ${seed}, request ${index}: ${answer.status}, but it changed ${changed}\n  ${toCurl(request, '')}\n  ${answer.text}`,
        );
      }
      before = after;
    }
    requireNoFault();
    if (!(await subject.isIntact())) subject = await prepareSubject(service);
  });

  test(`${howMany} of them, ${atOnce} at once: no 5xx, no leak, only documented answers`, async () => {
    const started = performance.now();
    let next = 0;
    while (next < howMany && faults.length < 20) {
      const { victim } = subject;
      const tables = [...(await readColumns(service.deps.db))]
        .filter(([, columns]) => columns.includes('project_id'))
        .map(([table]) => table);
      const before = await readSettled(tables, victim.projectId);
      const end = Math.min(howMany, next + aRound);
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          while (next < end && faults.length < 20) {
            const index = next++;
            await attack(makeRequest(index), index);
          }
        }),
      );
      expect(await readSettled(tables, victim.projectId), `seed ${seed}: a project of somebody else changed`).toEqual(
        before,
      );
      if (next < howMany && !(await subject.isIntact())) subject = await prepareSubject(service);
    }
    const seconds = (performance.now() - started) / 1000;
    console.log(
      `seed ${seed}: ${next} hostile requests in ${seconds.toFixed(0)} s on ${availableParallelism()} cores, answered ${JSON.stringify(statuses)}`,
    );
    requireNoFault();
  }, 1_800_000);

  test('the requests got far: every operation was refused, and most also succeeded', () => {
    // Accounts are excluded: many of their operations need the owner of the service, or a setting.
    const others = subject.operations.filter((operation) => !isOfAccounts(operation));
    const never = others.filter(
      ({ operationId }) => ![...(reached.get(operationId) ?? [])].some((status) => status < 400),
    );
    expect(never.length, `never succeeded: ${never.map(({ operationId }) => operationId)}`).toBeLessThan(
      others.length / 3,
    );
    const refused = subject.operations.filter(
      ({ operationId, parameters, body }) =>
        (parameters.length > 0 || body) && ![...(reached.get(operationId) ?? [])].some((status) => status >= 400),
    );
    // A short run may not reach all of them.
    const mayBeLeftOut = howMany < 20_000 ? subject.operations.length / 5 : 0;
    expect(refused.length, `never refused: ${refused.map(({ operationId }) => operationId)}`).toBeLessThanOrEqual(
      mayBeLeftOut,
    );
  });

  test('no prototype was polluted', () => {
    const all: string[] = [];
    for (const name in {}) all.push(name);
    expect(all).toEqual([]);
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('role');
  });

  test('the service still works', async () => {
    expect((await service.call('GET', '/readyz')).status).toBe(200);
    const ada = await service.signUp();
    const projectId = await service.createProject(ada);
    const body = await service.upload({ as: ada }, projectId, Buffer.from('bytes'));
    expect((await service.call('POST', '/api/storage/record', { as: ada, body })).status).toBe(200);
    const { files } = (await service.call('GET', `/api/storage/list?projectId=${projectId}`, { as: ada })).body;
    expect(files).toHaveLength(1);
  });
});
