import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { breakRecord } from '../../test/damage.ts';
import { beginUpload, partBytes, partOf, sendPart, uploadInParts } from '../../test/multipart.ts';
import { bucket, keptEitherWay, newFolder, send, startStore } from '../../test/running-store.ts';
import { runCli } from '../../test/store-process.ts';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(keptEitherWay)('a broken record of an object whose bytes are $kept harms nothing else', async ({ form }) => {
  const logged: string[] = [];
  const first = await startStore({ dataDir: folder });
  for (const key of ['a', 'broken', 'replaced', 'z']) {
    await send('PUT', first.presign('PUT', key), { body: form(key) });
  }
  await first.close();
  breakRecord(folder, `${bucket}\0broken`);
  breakRecord(folder, `${bucket}\0replaced`);

  const verified = await runCli(['verify', '--data', folder]);
  expect(verified.code).toBe(1);
  expect(verified.output).toContain(`index: "${bucket}/broken": `);
  expect(verified.output).toContain(`index: "${bucket}/replaced": `);
  expect(verified.output).toContain('2 objects and 0 parts read');

  const store = await startStore({ dataDir: folder, log: ({ message }) => logged.push(message) });
  const list = async (query: Record<string, string>) => {
    const { status, text } = await send('GET', store.presign('GET', '', { query }));
    return [status, ...[...text.matchAll(/<Key>([^<]*)/g)].map(([, key]) => key)];
  };
  for (const query of [{ 'list-type': '2' }, {}, { versions: '' }]) expect(await list(query)).toEqual([200, 'a', 'z']);
  const got = await send('GET', store.presign('GET', 'broken'));
  expect([got.status, got.code]).toEqual([500, 'InternalError']);
  expect(got.text).toContain('damaged');
  expect((await send('HEAD', store.presign('HEAD', 'broken'))).status).toBe(500);
  expect(logged.filter((message) => message.includes('record'))).toHaveLength(2);
  expect((await send('DELETE', store.presign('DELETE', 'broken'))).status).toBe(204);
  expect((await send('GET', store.presign('GET', 'broken'))).code).toBe('NoSuchKey');
  const unique = await send('PUT', store.presign('PUT', 'replaced', { headers: { 'if-none-match': '*' } }), {
    headers: { 'if-none-match': '*' },
    body: form('again'),
  });
  expect(unique.status).toBe(412);
  expect((await send('PUT', store.presign('PUT', 'replaced'), { body: form('again') })).status).toBe(200);
  expect((await send('GET', store.presign('GET', 'replaced'))).text).toBe(form('again'));
  expect(await list({ 'list-type': '2' })).toEqual([200, 'a', 'replaced', 'z']);
  await store.close();
});

test('broken records of a bucket, an upload and a part harm nothing else', async () => {
  const first = await startStore({ dataDir: folder });
  await uploadInParts(first, 'in parts', [partOf(partBytes, 1), partOf(10, 2)]);
  const uploadId = await beginUpload(first, 'under way');
  await sendPart(first, 'under way', uploadId, 1, 'a part');
  const broken = await beginUpload(first, 'broken');
  await sendPart(first, 'broken', broken, 1, 'another');
  await first.close();
  breakRecord(folder, `${bucket}\0broken\0${broken}`);
  breakRecord(folder, `${uploadId}/00001`);
  breakRecord(folder, bucket);

  const verified = await runCli(['verify', '--data', folder]);
  expect(verified.code).toBe(1);
  for (const subject of [bucket, `${bucket}/broken, upload ${broken}`, `upload ${uploadId}, part 1`]) {
    expect(verified.output).toContain(`index: "${subject}": `);
  }
  expect(verified.output).toContain('1 object and ');

  const store = await startStore({ dataDir: folder });
  const ask = async (method: string, key: string, query: Record<string, string>, body?: string) =>
    send(method, store.presign(method, key, { query }), body === undefined ? {} : { body });
  expect((await ask('GET', '', { uploads: '' })).text).toContain('<Key>under way</Key>');
  expect((await ask('GET', 'under way', { uploadId })).status).toBe(200);
  expect((await ask('PUT', 'under way', { uploadId, partNumber: '1' }, 'again')).status).toBe(200);
  expect((await ask('GET', 'under way', { uploadId })).text).toContain('<PartNumber>1</PartNumber>');
  expect((await ask('GET', 'broken', { uploadId: broken })).code).toBe('InternalError');
  expect((await ask('DELETE', 'broken', { uploadId: broken })).status).toBe(204);
  expect((await ask('GET', 'in parts', {})).body).toHaveLength(partBytes + 10);
  await store.close();
});

test('a broken record of a part: reading its object reports it, and the object can be deleted', async () => {
  const first = await startStore({ dataDir: folder });
  await uploadInParts(first, 'in parts', [partOf(partBytes, 1), partOf(10, 2)]);
  await first.close();
  const data = readFileSync(join(folder, 'index', 'data.mdb')).toString('latin1');
  const uploadId = /([0-9a-f]{44})\/00001\{/.exec(data)?.[1] ?? '';
  breakRecord(folder, `${uploadId}/00002`);
  const store = await startStore({ dataDir: folder });
  const got = await send('GET', store.presign('GET', 'in parts'));
  expect([got.status, got.code]).toEqual([500, 'InternalError']);
  expect((await send('DELETE', store.presign('DELETE', 'in parts'))).status).toBe(204);
  expect((await send('GET', store.presign('GET', 'in parts'))).code).toBe('NoSuchKey');
  await store.close();
});

test('foreign files in the folder are reported by verify, and prevent no start and no upload', async () => {
  const first = await startStore({ dataDir: folder });
  await first.close();
  writeFileSync(join(folder, 'blobs', 'note.txt'), 'a note');
  writeFileSync(join(folder, 'blobs', '00000000'), 'no folder');
  mkdirSync(join(folder, 'blobs', '00000003', 'folder'), { recursive: true });
  mkdirSync(join(folder, 'incoming', 'folder'));
  const store = await startStore({ dataDir: folder });
  expect((await send('PUT', store.presign('PUT', 'a'), { body: Buffer.alloc(20_000) })).status).toBe(200);
  await store.close();
  const { code, output } = await runCli(['verify', '--data', folder]);
  expect(code).toBe(1);
  for (const path of ['blobs/note.txt', 'blobs/00000000', 'blobs/00000003/folder', 'incoming/folder']) {
    expect(output).toContain(`stray: "${path}": `);
  }
});
