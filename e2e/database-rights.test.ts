import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, runService, type Settings, startService, stopService, testedSettings } from './service.ts';

const isOnPostgres = process.env.TEST_DATABASE_URL !== undefined;
if (!isOnPostgres) console.warn('LEFT OUT: users without rights, because TEST_DATABASE_URL names no PostgreSQL.');

let settings: Settings = {};
afterEach(() => cleanUp(settings));

test.runIf(isOnPostgres)('a start as a user who lacks rights on a table names the table', async () => {
  settings = await testedSettings();
  await stopService(await startService(settings));
  const owner = new pg.Client({ connectionString: settings.DATABASE_URL });
  await owner.connect();
  const name = `clerk_${randomBytes(4).toString('hex')}`;
  try {
    await owner.query(`create role ${name} login;
      grant select, insert, update, delete on all tables in schema public to ${name}; revoke all on operations from ${name}`);
    const url = new URL(settings.DATABASE_URL ?? '');
    url.username = name;
    const { code, stderr } = await runService({ ...settings, DATABASE_URL: url.href });
    expect(stderr).toMatch(/^The PostgreSQL user is not allowed to .* in these tables: operations\. /);
    expect(code).toBe(1);
  } finally {
    await owner.query(`drop owned by ${name}; drop role ${name}`);
    await owner.end();
  }
});
