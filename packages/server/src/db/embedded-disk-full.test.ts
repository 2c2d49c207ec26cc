import { spawnSync } from 'node:child_process';
import { mkdir, rm, statfs, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { type Database, openDatabase } from './open.ts';

const noSpace = /No space left on device/;

/** A separate disk in `folder`; undefined, with a warning, if this user may not mount one. */
async function mountDisk(folder: string, megabytes: number): Promise<{ path: string; unmount(): void } | undefined> {
  const image = join(folder, 'image');
  const path = join(folder, 'disk');
  await mkdir(path);
  await writeFile(image, '');
  await truncate(image, megabytes * 1024 * 1024);
  const made = spawnSync('mkfs.ext4', ['-q', '-F', image]);
  const mounted = made.status === 0 ? spawnSync('mount', ['-o', 'loop', image, path]) : made;
  if (mounted.status !== 0) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it: ${mounted.error ?? mounted.stderr}`);
    return undefined;
  }
  return { path, unmount: () => spawnSync('umount', ['--lazy', path]) };
}

/** Commits rows that do not compress, until one is refused or `most` are in. */
async function record(
  { pool }: Database,
  first: number,
  most: number,
): Promise<{ acknowledged: number[]; error?: unknown }> {
  const acknowledged: number[] = [];
  for (let id = first; id < first + most; id += 1) {
    try {
      await pool.query(
        `insert into records select $1, string_agg(gen_random_uuid()::text, '') from generate_series(1, 4000)`,
        [id],
      );
      acknowledged.push(id);
    } catch (error) {
      return { acknowledged, error };
    }
  }
  return { acknowledged };
}

async function readIds({ pool }: Database): Promise<number[]> {
  // Reads the content too, so that every page is read.
  const { rows } = await pool.query<{ id: number }>('select id from records where length(name) > 0 order by id');
  return rows.map(({ id }) => id);
}

/** Leaves at most this much space on the disk. */
async function fill(path: string, leaveBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  await writeFile(join(path, 'ballast'), Buffer.alloc(bavail * bsize - leaveBytes));
}

const giveSpace = (path: string) => rm(join(path, 'ballast'));

test('a full disk refuses commits without hanging, and once there is space again nothing acknowledged is missing', async () => {
  const folder = await makeTestFolder();
  const disk = await mountDisk(folder, 80);
  if (!disk) return rm(folder, { recursive: true });
  try {
    const dataDir = join(disk.path, 'database');
    let database = await openDatabase({ kind: 'embedded', dataDir });
    await database.pool.query('create table records (id int primary key, name text not null)');

    // No space for a table: the statement fails, and everything else continues.
    await fill(disk.path, 1_000_000);
    const first = await record(database, 0, 100);
    expect(first.error).toMatchObject({ code: '53100' });
    expect(await readIds(database)).toEqual(first.acknowledged);
    await giveSpace(disk.path);
    expect(await record(database, 100, 5)).toEqual({ acknowledged: [100, 101, 102, 103, 104] });

    // No space for the write-ahead log, which grows in steps of 16 MB: PostgreSQL gives up.
    await fill(disk.path, 15_000_000);
    const second = await record(database, 200, 1000);
    expect(String(second.error)).toMatch(noSpace);
    expect(String(await database.failed)).toMatch(noSpace);
    await expect(database.check()).rejects.toThrow(noSpace);
    await database.close();
    await expect(openDatabase({ kind: 'embedded', dataDir })).rejects.toThrow(
      /^There is no space left on the disk of .* \(ENOSPC\)/,
    );

    await giveSpace(disk.path);
    database = await openDatabase({ kind: 'embedded', dataDir });
    expect(await readIds(database)).toEqual(
      expect.arrayContaining([...first.acknowledged, 100, 101, 102, 103, 104, ...second.acknowledged]),
    );
    await database.close();
  } finally {
    disk.unmount();
    await rm(folder, { recursive: true });
  }
});
