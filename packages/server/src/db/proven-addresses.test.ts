import { randomUUID } from 'node:crypto';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { migrate } from './migrate.ts';
import type { Database } from './open.ts';

const ownFolder = fileURLToPath(new URL('./migrations/', import.meta.url));

describe.each(testableKinds)('accounts from before e-mail addresses were verified (%s)', (kind) => {
  let db: Database;
  let before: string;
  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
    before = await makeTestFolder();
    for (const name of await readdir(ownFolder)) {
      if (name < '0009') await cp(join(ownFolder, name), join(before, name));
    }
  });
  afterAll(async () => {
    await db.close();
    await rm(before, { recursive: true });
  });

  async function addUser(name: string, more: { role?: string; verified?: boolean } = {}): Promise<string> {
    const id = randomUUID();
    const { role = 'member', verified = false } = more;
    await db.pool.query('insert into users (id, name, email, role, email_verified) values ($1, $2, $3, $4, $5)', [
      id,
      name,
      `${name}@example.com`,
      role,
      verified,
    ]);
    await db.pool.query(
      `insert into two_factors (id, user_id, secret, backup_codes, verified) values ($1, $2, '', '', true)`,
      [randomUUID(), id],
    );
    return id;
  }

  const addEvent = (userId: string | null, type: string, subject: object) =>
    db.pool.query('insert into audit_events (id, type, at, user_id, subject) values ($1, $2, now(), $3, $4)', [
      randomUUID(),
      type,
      userId,
      JSON.stringify(subject),
    ]);

  test('count as verified where there is evidence, and need not do anything', async () => {
    await migrate(db.pool, pathToFileURL(`${before}/`));
    await addUser('owner', { role: 'owner' });
    await addUser('issuer', { verified: true });
    const guest = await addUser('guest');
    await addEvent(guest, 'member.added', { userId: guest, invitationId: randomUUID() });
    const stranger = await addUser('stranger');
    await addEvent(stranger, 'account.created', {});
    await addEvent(stranger, 'project.created', {});
    await addEvent(null, 'member.added', { userId: stranger });

    await migrate(db.pool);

    const { rows } = await db.pool.query(
      `select name, email_verified, must_verify_email, address_proven
       from users join two_factors on two_factors.user_id = users.id order by name`,
    );
    const proven = { email_verified: true, must_verify_email: false, address_proven: true };
    expect(rows).toEqual([
      { name: 'guest', ...proven },
      { name: 'issuer', ...proven },
      { name: 'owner', ...proven },
      { name: 'stranger', email_verified: false, must_verify_email: false, address_proven: false },
    ]);
  });
});
