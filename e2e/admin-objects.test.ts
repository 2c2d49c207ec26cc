import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { type Client, createClient } from '@cadiz/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, type Ended, main } from './cli.ts';
import { signUpOwner } from './client-account.ts';
import {
  cleanUp,
  embeddedSettings,
  freePorts,
  quickStart,
  removeData,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const mebibyte = 1024 ** 2;
/** A PNG of one pixel. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const { TEST_DATABASE_URL, TEST_S3_ENDPOINT } = process.env;
const kinds = TEST_DATABASE_URL || TEST_S3_ENDPOINT ? ['embedded', 'given'] : ['embedded'];
const newSettings = async (kind: string): Promise<Settings> => ({
  ...(await (kind === 'embedded' ? embeddedSettings() : testedSettings())),
  RATE_LIMITS: 'off',
});

describe.each(kinds)('a backup with objects (%s)', (kind) => {
  let settings: Settings;
  let service: Service;
  let folder: string;
  let apiKey: string;
  let projectId: string;
  let cadiz: Client;
  let vanishing: { id: string; storeKey: string };
  let linkUrl: string;
  let trashedId: string;
  let pictureId: string;
  const bytesOf = new Map<string, Buffer>();
  const archive = () => join(folder, 'archive');
  const admin = (args: string[], own: Settings = settings): Promise<Ended> =>
    collect(
      [process.execPath, ...quickStart, main, 'admin', ...args],
      { env: { PATH: process.env.PATH ?? '', ...own } },
      folder,
    );
  const copies = (of: string): string[] => {
    if (!existsSync(join(of, 'objects'))) return [];
    const names = readdirSync(join(of, 'objects'), { recursive: true }).map((name) => join(of, 'objects', `${name}`));
    return names.filter((name) => /\/[\da-f]{64}$/.test(name));
  };

  const count = (path: string) => (existsSync(path) ? readdirSync(path, { recursive: true }).length : 0);

  /** Kills the command as soon as it has done something. */
  async function kill(args: string[], own: Settings, hasBegun: () => boolean): Promise<void> {
    const env = { PATH: process.env.PATH ?? '', ...own };
    const child = spawn(process.execPath, [...quickStart, main, 'admin', ...args], { env, stdio: 'ignore' });
    const exit = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    while (!hasBegun() && child.exitCode === null) await delay(1);
    child.kill('SIGKILL');
    expect(await exit).toBe('SIGKILL');
  }

  async function expectBytes(client: Client): Promise<void> {
    for (const [id, bytes] of bytesOf) {
      const answer = await fetch((await client.files.url(id)).url);
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes), id).toBe(true);
    }
  }

  async function openStore(): Promise<S3Client> {
    const { S3_ENDPOINT: endpoint = `http://127.0.0.1:${settings.STORE_PORT}`, S3_REGION: region = 'us-east-1' } =
      settings;
    const kept = settings.S3_ENDPOINT
      ? undefined
      : JSON.parse(await readFile(join(settings.CADIZ_DATA_DIR ?? '', 'secrets.json'), 'utf8'));
    const accessKeyId = kept?.storeAccessKeyId ?? settings.S3_ACCESS_KEY_ID;
    const secretAccessKey = kept?.storeSecretAccessKey ?? settings.S3_SECRET_ACCESS_KEY;
    return new S3Client({ endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } });
  }

  /** In parts of a size that nobody would guess. */
  async function uploadInParts(bytes: Buffer, partSize: number, facts: { sha256?: string } = {}): Promise<string> {
    const ask = async <T>(path: string, body: object): Promise<T> => {
      const answer = await fetch(service.url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Api-Key': apiKey, Authorization: `Bearer ${apiKey}` },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      expect(answer.status, text).toBe(200);
      return JSON.parse(text) as T;
    };
    const { uploadId: id } = await ask<{ uploadId: string }>('/api/storage/uploads', {
      projectId,
      folderId: null,
      fileName: 'parts.bin',
      fileSize: bytes.length,
      mimeType: 'application/octet-stream',
      partSize,
      ...facts,
    });
    const partNumbers = Array.from({ length: Math.ceil(bytes.length / partSize) }, (_, index) => index + 1);
    const { parts } = await ask<{ parts: { partNumber: number; presignedUrl: string }[] }>(
      `/api/storage/uploads/${id}/parts`,
      { partNumbers },
    );
    for (const { partNumber, presignedUrl } of parts) {
      const body = bytes.subarray((partNumber - 1) * partSize, partNumber * partSize);
      expect((await fetch(presignedUrl, { method: 'PUT', body: new Uint8Array(body) })).status).toBe(200);
    }
    return (await ask<{ id: string }>(`/api/storage/uploads/${id}/complete`, {})).id;
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cadiz-objects-'));
    settings = await newSettings(kind);
    service = await startService(settings);
    const project = await (await signUpOwner(service.url)).createProject('Main');
    ({ apiKey, projectId } = project);
    cadiz = createClient({ baseUrl: service.url, apiKey });
    for (let number = 0; number < 30; number += 1) {
      const bytes = Buffer.alloc(number * 1000, `${number} `);
      const { id } = await cadiz.upload(new Blob([bytes]), { name: `${number} é.txt` });
      bytesOf.set(id, bytes);
    }
    const trashed = await cadiz.upload(new Blob(['in the trash']), { name: 'trashed.txt' });
    trashedId = trashed.id;
    await cadiz.files.delete(trashedId);
    const odd = Buffer.alloc(13 * mebibyte, 'parts of a file ');
    const partsId = await uploadInParts(odd, 6 * mebibyte);
    bytesOf.set(partsId, odd);
    const image = await cadiz.upload(new Blob([picture]), { name: 'picture.png', type: 'image/png' });
    pictureId = image.id;
    bytesOf.set(pictureId, picture);
    linkUrl = (await cadiz.links.create(partsId)).url;
    vanishing = await cadiz.upload(new Blob(['will vanish']), { name: 'vanishing.txt' });
    bytesOf.set(vanishing.id, Buffer.from('will vanish'));
    const ended = await admin(['backup', '--objects', '--json', archive()]);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ objects: { copied: 34, failed: 0 } });
  }, 120_000);
  afterAll(async () => {
    if (service) await stopService(service);
    await cleanUp(settings);
    await rm(folder, { recursive: true, force: true });
  });

  it('has every object, readable by its owner only, and is whole', async () => {
    expect(copies(archive())).toHaveLength(34);
    for (const path of copies(archive())) expect((await stat(path)).mode & 0o077).toBe(0);
    expect(await admin(['verify', '--objects', archive()], {})).toMatchObject({ code: 0 });
  });

  it.each(kinds)(
    'is restored into an empty service, where every file has its bytes (%s)',
    {
      timeout: 120_000,
    },
    async (other) => {
      const target = await newSettings(other);
      try {
        const ended = await admin(['restore', '--objects', archive()], target);
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
        expect(ended.stdout).toContain('restored 34 objects');
        const restored = await startService(target);
        const client = createClient({ baseUrl: restored.url, apiKey });
        await client.files.restore(trashedId);
        const trashed = await fetch((await client.files.url(trashedId)).url);
        expect(await trashed.text()).toBe('in the trash');
        await expectBytes(client);
        // A link compares the ETag, which is another for unknown sizes of parts.
        const own = new URL(linkUrl);
        const shared = await fetch(restored.url + own.pathname + own.search);
        expect((await shared.arrayBuffer()).byteLength).toBe(13 * mebibyte);
        // Variants are in no backup: they are made anew.
        const variant = await fetch((await client.files.image(pictureId, { w: 16, f: 'webp' })).url);
        expect([variant.status, variant.headers.get('content-type')]).toEqual([200, 'image/webp']);
        await stopService(restored);
      } finally {
        await removeData(target);
      }
    },
  );

  it('can be restored after a restore that was killed while it stored objects', { timeout: 120_000 }, async () => {
    const target = await newSettings('embedded');
    const blobs = () => count(join(target.CADIZ_DATA_DIR ?? '', 'objects', 'blobs'));
    try {
      await kill(['restore', '--objects', archive()], target, () => blobs() > 2);
      expect(blobs()).toBeLessThan(34);
      const ended = await admin(['restore', '--objects', archive()], target);
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      const restored = await startService(target);
      await expectBytes(createClient({ baseUrl: restored.url, apiKey }));
      await stopService(restored);
    } finally {
      await removeData(target);
    }
  });

  it('goes on after it was killed, with what was copied', { timeout: 120_000 }, async () => {
    const next = join(folder, 'next');
    await kill(['backup', '--objects', next], settings, () => copies(next).length > 0);
    const before = copies(next).map((path) => ({ path, ino: statSync(path).ino }));
    expect(before.length).toBeGreaterThan(0);
    expect((await admin(['verify', '--objects', next])).stderr).toContain('no whole backup');
    expect(await admin(['backup', '--objects', next])).toMatchObject({ code: 0 });
    for (const { path, ino } of before) expect(statSync(path).ino).toBe(ino);
    expect(await admin(['verify', '--objects', next])).toMatchObject({ code: 0 });
  });

  it('is not whole if its list lacks an object', async () => {
    const short = join(folder, 'short');
    await cp(archive(), short, { recursive: true });
    const { sha256: _, ...manifest } = JSON.parse(await readFile(join(short, 'manifest.json'), 'utf8'));
    const list = join(short, manifest.objects.path);
    const lines = (await readFile(list, 'utf8')).split('\n').slice(1).join('\n');
    await writeFile(list, lines);
    const sha256 = createHash('sha256').update(lines).digest('hex');
    Object.assign(manifest.objects, { sizeBytes: Buffer.byteLength(lines), sha256, rows: 33 });
    await writeFile(join(short, 'manifest.json'), JSON.stringify(manifest));
    const verified = await admin(['verify', '--objects', short], {});
    expect(verified).toMatchObject({ code: 1 });
    expect(verified.stdout).toContain('lists 33 objects for 34 files');
  });

  it.runIf(kind === 'embedded')('takes the settings of the running service', async () => {
    const [port] = await freePorts(1);
    const ended = await admin(['backup', '--objects', archive()], { ...settings, STORE_PORT: String(port) });
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain('run the command with all settings of the service, such as HOST and STORE_PORT.');
    expect(await admin(['verify', '--objects', archive()], {})).toMatchObject({ code: 0 });
  });

  it('is not replaced by one without objects', async () => {
    const ended = await admin(['backup', archive()]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain('has objects, which one without would lose: add --objects, or name a new folder.');
    expect(await admin(['verify', '--objects', archive()], {})).toMatchObject({ code: 0 });
  });

  it('names copies that were tampered with, restores the others, and is mended by the next run', {
    timeout: 120_000,
  }, async () => {
    const damaged = join(folder, 'damaged');
    await cp(archive(), damaged, { recursive: true });
    const sizeOf = (name: string) => statSync(name).size;
    // Only the list of the backup has a checksum of what was uploaded in parts.
    const isLarge = (name: string) => sizeOf(name) === 13 * mebibyte;
    const tampered = [
      copies(damaged).find((name) => sizeOf(name) > 0 && !isLarge(name)) ?? '',
      copies(damaged).find(isLarge) ?? '',
    ];
    for (const path of tampered) {
      const bytes = await readFile(path);
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      await writeFile(path, bytes);
    }
    const verified = await admin(['verify', '--objects', damaged], {});
    expect(verified).toMatchObject({ code: 1 });
    for (const path of tampered) expect(verified.stdout).toContain(`${path} is damaged`);
    const target = await embeddedSettings();
    try {
      const restored = await admin(['restore', '--objects', damaged], target);
      expect(restored).toMatchObject({ code: 5 });
      for (const path of tampered) expect(restored.stderr).toContain(`${path} is damaged`);
      expect(restored.stdout).toContain('restored 32 objects');
    } finally {
      await removeData(target);
    }
    expect(await admin(['backup', '--objects', damaged])).toMatchObject({ code: 0 });
    for (const path of tampered) {
      const whole = await readFile(join(archive(), path.slice(damaged.length)));
      expect((await readFile(path)).equals(whole)).toBe(true);
    }
  });

  it('names an object that has vanished, and keeps the copy that an earlier one has', {
    timeout: 120_000,
  }, async () => {
    const store = await openStore();
    await store.send(new DeleteObjectCommand({ Bucket: settings.S3_BUCKET ?? 'cadiz', Key: vanishing.storeKey }));
    store.destroy();
    const anew = join(folder, 'anew');
    const ended = await admin(['backup', '--objects', '--quiet', anew]);
    expect(ended).toMatchObject({ code: 5 });
    expect(ended.stderr).toContain(`${vanishing.storeKey}: its object is not in the object store`);
    expect(copies(anew)).toHaveLength(33);
    const verified = await admin(['verify', '--objects', anew], {});
    expect(verified).toMatchObject({ code: 1 });
    expect(verified.stdout).toContain(vanishing.storeKey);
    expect(await admin(['backup', '--objects', archive()])).toMatchObject({ code: 0 });
    expect(copies(archive())).toHaveLength(34);
  });

  it.runIf(kind === 'given' && TEST_S3_ENDPOINT)(
    'puts back what a bucket has lost, with a database to throw away',
    {
      timeout: 120_000,
    },
    async () => {
      const { DATABASE_URL: _, ...store } = settings;
      const ended = await admin(['restore', '--objects', archive()], {
        ...store,
        CADIZ_DATA_DIR: join(folder, 'thrown'),
      });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      const answer = await fetch((await cadiz.files.url(vanishing.id)).url);
      expect(await answer.text()).toBe('will vanish');
    },
  );

  it('is refused if its objects are asked for and it has none', { timeout: 120_000 }, async () => {
    const bare = join(folder, 'bare');
    expect(await admin(['backup', bare])).toMatchObject({ code: 0 });
    const verified = await admin(['verify', '--objects', bare], {});
    expect(verified).toMatchObject({ code: 1 });
    expect(verified.stderr).toContain('has no objects');
  });

  it('is not needed where another tool copied the bucket, and its objects have the bytes that were recorded', {
    timeout: 120_000,
  }, async () => {
    const bytes = Buffer.alloc(12 * mebibyte, 'copied in other parts ');
    const other = Buffer.from(bytes).fill('!', 7_000_000, 7_000_001);
    const sent = {
      usual: await uploadInParts(bytes, 5 * mebibyte),
      altered: await uploadInParts(bytes, 5 * mebibyte),
      unusual: await uploadInParts(bytes, 7 * mebibyte),
      known: await uploadInParts(bytes, 5 * mebibyte, { sha256: createHash('sha256').update(bytes).digest('hex') }),
      whole: (await cadiz.upload(new Blob([bytes]), { name: 'whole.bin' })).id,
      grown: (await cadiz.upload(new Blob(['short']), { name: 'grown.txt' })).id,
    };
    const copied = {
      usual: bytes,
      altered: other,
      unusual: bytes,
      known: other,
      whole: bytes,
      grown: Buffer.from('longer'),
    };
    const store = await openStore();
    const Bucket = settings.S3_BUCKET ?? 'cadiz';
    const keys: Record<string, string> = {};
    for (const [name, id] of Object.entries(sent)) {
      const { storeKey: Key } = await cadiz.files.get(id);
      keys[name] = Key;
      const Body = copied[name as keyof typeof copied];
      await store.send(new PutObjectCommand({ Bucket, Key, Body }));
    }
    const Key = keys.whole;
    const { UploadId } = await store.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const { ETag } = await store.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: bytes }));
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    await store.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }));
    await store.send(new DeleteObjectCommand({ Bucket, Key: vanishing.storeKey }));
    store.destroy();
    const copyOf = (id: string) => cadiz.files.copy(id, { fileName: 'copy.bin' });
    await expect(copyOf(sent.usual)).rejects.toMatchObject({ code: 'object_changed' });
    await stopService(service);

    const trial = await admin(['accept', '--dry-run', '--json', '--quiet']);
    expect(trial, trial.stderr).toMatchObject({ code: 5 });
    expect(JSON.parse(trial.stdout)).toEqual({ unchanged: 33, accepted: 2, failed: 5 });
    const ended = await admin(['accept', '--quiet']);
    expect(ended, ended.stderr).toMatchObject({ code: 5 });
    expect(ended.stdout).toContain('with another ETag, accepted: 2');
    for (const [key, why] of [
      [keys.altered, 'its object has the right size, but nothing tells whether it has the bytes that were recorded'],
      [keys.unusual, 'its object has the right size, but nothing tells whether it has the bytes that were recorded'],
      [keys.known, 'its object has another SHA-256 than was recorded'],
      [keys.grown, 'its object has 6 bytes instead of 5'],
      [vanishing.storeKey, 'its object is not in the object store'],
    ]) {
      expect(ended.stderr).toContain(`${key}: ${why}`);
    }
    const trusted = await admin(['accept', '--unproved', '--json', '--quiet']);
    expect(JSON.parse(trusted.stdout)).toEqual({ unchanged: 35, accepted: 2, failed: 3 });

    service = await startService(settings);
    cadiz = createClient({ baseUrl: service.url, apiKey });
    const { id } = await copyOf(sent.usual);
    const answer = await fetch((await cadiz.files.url(id)).url);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    await expect(copyOf(sent.known)).rejects.toMatchObject({ code: 'object_changed' });
  });
});
