import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Problem } from '../problem.ts';
import { type AccessLogSettings, createAccessLog, type LoggedRequest } from './access-log.ts';
import { logOptions } from './log.ts';

const facts: LoggedRequest = {
  requestId: 'r',
  traceId: 't',
  operation: 'list',
  projectId: 'p',
  keyId: 'k',
};

function open(settings: Partial<AccessLogSettings> = {}, level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const clock = { now: 0 };
  const log = pino(
    { ...logOptions, level, base: null, timestamp: false },
    { write: (line) => void lines.push(JSON.parse(line)) },
  );
  const access = createAccessLog({ logSlowMilliseconds: 1000, logSample: 0, ...settings }, log, () => clock.now);
  const answer = (milliseconds: number, problem?: Problem, operation = 'list') => {
    const status = problem?.status ?? 200;
    const answered = { operation, method: 'GET', status, requestId: 'r', started: clock.now - milliseconds };
    access.answered(answered, () => ({ ...facts, operation }), problem);
    return lines.splice(0);
  };
  return { answer, clock, access, lines };
}

const unavailable = (code: string) =>
  new Problem('database_unavailable', undefined, { cause: Object.assign(new Error('it is away'), { code }) });

test('a slow request has a line with exactly these fields, and others have none', () => {
  const { answer } = open();
  expect(answer(1000)).toEqual([]);
  expect(answer(1000.04)).toEqual([{ level: 30, ...facts, status: 200, ms: 1000, msg: 'A slow request' }]);
  expect(answer(10, new Problem('file_not_found'))).toEqual([]);
  // A long poll takes as long as it was asked to.
  expect(answer(30_000, undefined, 'readEvents')).toEqual([]);
});

test('one of so many others is logged', () => {
  const { answer } = open({ logSample: 3 });
  const logged = Array.from({ length: 9 }, () => answer(1).length);
  expect(logged).toEqual([0, 0, 1, 0, 0, 1, 0, 0, 1]);
  expect(open({ logSample: 1 }).answer(12.34)).toEqual([
    { level: 30, ...facts, status: 200, ms: 12.3, msg: 'A request' },
  ]);
});

test('at debug, all are', () => {
  expect(open({}, 'debug').answer(1)).toMatchObject([{ level: 20, status: 200, ms: 1, msg: 'A request' }]);
});

test('a failure of the service has its error, and a client that errs is none', () => {
  const { answer } = open();
  const broken = new Problem('internal_error', undefined, { cause: new TypeError('x is not a function') });
  for (let times = 0; times < 2; times += 1) {
    expect(answer(5, broken)).toMatchObject([
      { level: 50, ...facts, status: 500, ms: 5, code: 'internal_error', error: { type: 'TypeError' } },
    ]);
  }
  expect(answer(5, new Problem('invalid_request'))).toEqual([]);
});

test('of a dependency that is away, each request has its line, and the error is in the first', () => {
  const { answer, clock } = open();
  const of = (problem: Problem) =>
    answer(5, problem).map(({ level, error, code }) => [level, code, error !== undefined]);
  const [news, known] = [
    [50, 'database_unavailable', true],
    [40, 'database_unavailable', false],
  ];
  expect(of(unavailable('ECONNREFUSED'))).toEqual([news]);
  expect(of(unavailable('ECONNREFUSED'))).toEqual([known]);
  // As long as it goes on.
  for (let minute = 0; minute < 5; minute += 1) {
    clock.now += 59_000;
    expect(of(unavailable('ECONNREFUSED'))).toEqual([known]);
  }
  expect(of(unavailable('57P01'))).toEqual([news]);
  expect(of(unavailable('57P01'))).toEqual([known]);
  clock.now += 61_000;
  expect(of(unavailable('57P01'))).toEqual([news]);
  // The store is another dependency.
  expect(of(new Problem('store_unavailable', 'a'))).toEqual([[50, 'store_unavailable', true]]);
  expect(of(unavailable('57P01'))).toEqual([known]);
});

test('that the service is busy is no error', () => {
  expect(open().answer(5, new Problem('archives_busy'))).toEqual([
    expect.not.objectContaining({ error: expect.anything() }),
  ]);
});

test('why an image is not made is in the first line, and again when that changes', () => {
  const { answer } = open();
  const failed = (why: string) => new Problem('image_not_ready', undefined, { cause: new Error(why) });
  const missing = 'ENOENT: no such file or directory, mkdtemp';
  expect(answer(5, failed(missing))).toMatchObject([
    { level: 40, code: 'image_not_ready', error: { message: missing } },
  ]);
  const known = [expect.not.objectContaining({ error: expect.anything() })];
  expect(answer(5, failed(missing))).toEqual(known);
  expect(answer(5, failed('It took longer.'))).toMatchObject([{ level: 40, error: { message: 'It took longer.' } }]);
  // Another process makes it.
  expect(answer(5, new Problem('image_not_ready'))).toEqual(known);
});

test('a failure within an answer has no status of a request', () => {
  const { access, lines } = open();
  access.failed(facts, unavailable('57P01'));
  expect(lines).toMatchObject([{ ...facts, code: 'database_unavailable' }]);
  expect(lines[0]).not.toHaveProperty('status');
});
