import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { listFiles, signUpOwner } from './client-account.ts';
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

test.runIf(isOnPostgres)('another role takes the place of the first one as docs/hardening.md says', async () => {
  settings = await testedSettings();
  const superuser = new pg.Client({ connectionString: settings.DATABASE_URL });
  await superuser.connect();
  const name = `cadiz_${randomBytes(4).toString('hex')}_`;
  const markdown = await readFile(new URL('../docs/hardening.md', import.meta.url), 'utf8');
  const [create = '', end = ''] = [...markdown.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) =>
    sql.replaceAll(/\bcadiz(?=2?\b)/g, name),
  );
  const startAs = async (role: string) => {
    const url = new URL(settings.DATABASE_URL ?? '');
    url.username = role;
    return startService({ ...settings, DATABASE_URL: url.href });
  };
  try {
    const database = new URL(settings.DATABASE_URL ?? '').pathname.slice(1);
    await superuser.query(`create role ${name} login; alter database ${database} owner to ${name}`);
    const first = await startAs(name);
    const { apiKey } = await (await signUpOwner(first.url)).createProject('Holiday');
    await superuser.query(create);
    await stopService(first);
    await superuser.query(end);
    const second = await startAs(`${name}2`);
    expect(await listFiles(second.url, apiKey)).toEqual([]);
    await stopService(second);
    await superuser.query(`set role ${name}2; alter table files add column added int; create table added ()`);
  } finally {
    await superuser.query(
      `reset role; reassign owned by ${name}, ${name}2 to current_user; drop role ${name}, ${name}2`,
    );
    await superuser.end();
  }
});
