import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { watchSynced } from '../../test/synced.ts';
import { createS3Store } from '../store/s3-store.ts';
import { copyObject, forEachObject, ObjectFailure } from './objects.ts';

test('of a thousand objects, some slow and some that fail, each has one result', async () => {
  const objects = Array.from({ length: 1000 }, (_, number) => ({ storeKey: `${number}`, sizeBytes: number }));
  const warned: string[] = [];
  const results = forEachObject(
    async function* () {
      yield* objects;
    },
    'Copying objects',
    {
      watch: () => ({ interject: (say) => say(), stop: () => undefined }),
      warn: (sentence) => void warned.push(sentence),
    },
    async ({ storeKey }) => {
      await delay(Number(storeKey) % 7);
      if (Number(storeKey) % 100 === 42) throw new ObjectFailure('it is gone.');
      return storeKey;
    },
    ({ storeKey }) => storeKey,
  );
  const keys: string[] = [];
  for await (const some of results) keys.push(...some);
  expect(keys.sort()).toEqual(objects.map(({ storeKey }) => storeKey).sort());
  expect(warned).toHaveLength(10);
});

test('what fails while the next object is still being read ends it all, and is missed by nobody', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  try {
    const results = forEachObject(
      async function* () {
        yield { storeKey: 'a', sizeBytes: 1 };
        await delay(20);
        yield { storeKey: 'b', sizeBytes: 1 };
      },
      'Copying objects',
      { watch: () => ({ interject: (say) => say(), stop: () => undefined }), warn: () => undefined },
      async ({ storeKey }) => {
        if (storeKey === 'a') throw new Error('The store is down.');
        return storeKey;
      },
      ({ storeKey }) => storeKey,
    );
    await expect(results.next()).rejects.toThrow('The store is down.');
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
});

test.skipIf(!existsSync('/proc/self/fd'))('a copy is durable with every folder that was made for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const synced = await watchSynced();
  const object = { storeKey: 'a', sizeBytes: 4, etag: 'of parts-2' };
  const store = { read: async () => ({ ...object, body: Readable.from([Buffer.from('text')]) }) };
  await copyObject(folder, store, { ...object, sha256: undefined }, undefined, () => undefined);
  const made = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
  expect(made).toHaveLength(4);
  for (const path of made) expect(synced, path).toContain(dirname(path));
});

/** A store with one object, that breaks off its first answers in the middle. */
async function openBreaking(text: string, times: number) {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-length': text.length, etag: '"of parts-2"' });
    if (asked > times) response.end(text);
    else response.write(text.slice(0, -2), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const settings = { ...keys, endpoint, publicEndpoint: endpoint, region: 'us-east-1', bucket: 'cadiz' };
  const store = createS3Store({ ...settings, presignTtlSeconds: 60 }, Date.now);
  onTestFinished(() => {
    store.close();
    server.close();
  });
  return { store, asked: () => asked };
}

test('an object whose store breaks off is read again, and after a few times the command says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = 'the whole text';
  const object = { storeKey: 'a', sizeBytes: text.length, etag: 'of parts-2', sha256: undefined };
  let bytes = 0;
  const copy = async ({ store }: Awaited<ReturnType<typeof openBreaking>>) =>
    copyObject(folder, store, object, undefined, (more) => (bytes += more));
  const never = await openBreaking(text, Number.POSITIVE_INFINITY);
  await expect(copy(never)).rejects.toThrow('The object store has broken off while it sent a.');
  expect([never.asked(), bytes]).toEqual([4, 0]);
  const twice = await openBreaking(text, 2);
  await copy(twice);
  expect([twice.asked(), bytes]).toEqual([3, text.length]);
  const [path = ''] = readdirSync(folder, { recursive: true }).filter((name) => /\w{64}$/.test(String(name)));
  expect(await readFile(join(folder, String(path)), 'utf8')).toBe(text);
});
