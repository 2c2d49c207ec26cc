import pg from 'pg';
import { expect, test } from 'vitest';
import { createLog } from './log.ts';

function logged(...args: [object, string]): string {
  const lines: string[] = [];
  createLog('debug', { write: (line) => void lines.push(line) }).info(...args);
  return lines.join('');
}

const key = `cz_live_${'a'.repeat(49)}`;
const hash = '$argon2id$v=19$m=19456,t=2,p=1$AgCEXZkQq4Xbct2vlMmeTQ$VLMGS9fZg';

test('of an error of the database nothing is logged that tells of rows (checklist 46)', () => {
  const error = Object.assign(new pg.DatabaseError('null value in column "x" violates', 1, 'error'), {
    code: '23502',
    constraint: 'users_email_key',
    detail: `Failing row contains (1, somebody@example.com, ${hash}).`,
    where: 'COPY somebody@example.com',
  });
  for (const one of [error, Object.assign(new Error('outside', { cause: error }), { inner: error })]) {
    const line = logged({ error: one }, 'It failed');
    expect(line).toContain('violates');
    expect(line).toContain('log.test.ts');
    expect(line).not.toMatch(/somebody|argon2|COPY/);
  }
  expect(JSON.parse(logged({ error }, 'It failed')).error).toMatchObject({
    code: '23502',
    constraint: 'users_email_key',
  });
});

test.each([
  [`key ${key} is not known`, key],
  [`Authorization: Bearer ${'t'.repeat(30)}`, 't'.repeat(30)],
  ['cookie: cadiz.session_token=abc.def%3D; other', 'abc.def'],
  ['__Host-cadiz.session_token=abcdef', 'abcdef'],
  [`PUT /b/k?X-Amz-Credential=AKIA%2F2026&X-Amz-Signature=${'0'.repeat(64)}&x=1`, '0'.repeat(64)],
  ['PUT /b/k?X-Amz-Credential=AKIA%2F2026&x=1', 'AKIA'],
  [`PUT /b/k?X-Amz-%53ignature=${'1'.repeat(64)}`, '1'.repeat(64)],
  [`GET /api/storage/archives/${'W'.repeat(30)}.${'x'.repeat(30)}`, 'WWWW'],
  [`the hash is ${hash}`, 'VLMGS'],
])('a line that says "%s" is logged without the credential (checklist 46, T25)', (text, secret) => {
  for (const line of [logged({ text }, 'x'), logged({ error: new Error(text) }, 'x'), logged({}, text)]) {
    expect(line).not.toContain(secret);
    expect(() => JSON.parse(line)).not.toThrow();
  }
});

test('what is no credential stays', () => {
  const text = 'cz_live_ begins a key, /api/storage/archives/{token} is a route, and Bearer is a scheme';
  expect(JSON.parse(logged({}, text)).msg).toBe(text);
});

test('the reason of an error follows its sentence without a full stop', () => {
  const error = new Error('The object store does not answer.', {
    cause: new Error('connect ECONNREFUSED 127.0.0.1:9'),
  });
  expect(JSON.parse(logged({ error }, 'It failed')).error.message).toBe(
    'The object store does not answer: connect ECONNREFUSED 127.0.0.1:9',
  );
  expect(JSON.parse(logged({ error: 'a string' }, 'It failed')).error).toBe('a string');
});
