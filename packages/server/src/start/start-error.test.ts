import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { toSentence } from './start-error.ts';

test.each([
  [
    'a name that nobody has',
    'nowhere..invalid',
    /^The host name nowhere\.\.invalid cannot be looked up \(\w+\): .* HOST\.$/,
  ],
  ['an address of another machine', '203.0.113.7', /^HOST=203\.0\.113\.7 is not an IP address of this machine: .*\.$/],
])('a service that should listen on %s says which setting is wrong', async (_, host, sentence) => {
  const [error] = await once(createServer().listen({ host, port: 0 }), 'error').catch((caught) => [caught]);
  expect(toSentence(error)).toMatch(sentence);
});

describe.runIf(testableKinds.includes('postgres'))('on PostgreSQL', () => {
  test('a database that is read-only is said to be so', async () => {
    const { url, drop } = await createServerDatabase();
    const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=on' });
    await client.connect();
    const error: unknown = await client.query('create table t ()').catch((reason: unknown) => reason);
    await client.end();
    await drop();
    expect(toSentence(error)).toMatch(/^The PostgreSQL database is read-only, .* DATABASE_URL .*\.$/);
  });
});
