import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DamagedArchive, findManifest, type Manifest, manifestName, writeManifest } from './archive.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-archive-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a manifest of which one byte has changed is refused, unless it says the same', async () => {
  const part = (path: string) => ({ path: `database-1/${path}`, sizeBytes: 12, sha256: 'ab'.repeat(32), rows: 2 });
  const manifest: Manifest = {
    format: 1,
    createdAt: '2026-11-27T12:00:00.000Z',
    migrations: [{ name: '0001-foundation.sql', sha256: 'cd'.repeat(32) }],
    sequences: [{ table: 'new_events', column: 'pos', next: 67 }],
    tables: [{ name: 'files', columns: ['id', 'file_name'], ...part('files.copy') }],
    secrets: part('secrets.json'),
    objects: part('objects.jsonl'),
  };
  await writeManifest(folder, manifest);
  expect(await findManifest(folder)).toEqual(manifest);
  const path = join(folder, manifestName);
  const whole = await readFile(path);
  for (const at of whole.keys()) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    await writeFile(path, damaged);
    const found = await findManifest(folder).catch((error: unknown) => error);
    if (!(found instanceof DamagedArchive)) expect(found, damaged.toString()).toEqual(manifest);
  }
});
