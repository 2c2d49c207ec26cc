import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary, startLibrary, tally } from '../../../test/library.ts';
import { type Answer, send } from '../../../test/service.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

async function upload(facts: Record<string, unknown> = {}, folderId: string | null = null): Promise<object> {
  const { service, key, projectId } = library;
  return { ...(await service.upload({ key }, projectId, Buffer.from('bytes'), { folderId })), ...facts };
}

const record = async (facts: Record<string, unknown> = {}, folderId: string | null = null): Promise<Answer> =>
  library.call('POST', '/api/storage/record', await upload(facts, folderId));

async function file(facts: Record<string, unknown> = {}, folderId: string | null = null): Promise<Answer['body']> {
  const { status, body, text } = await record(facts, folderId);
  expect(status, text).toBe(200);
  return body;
}

const change = (id: string, body: object) => library.call('PATCH', `/api/storage/files/${id}`, body);
const get = async (id: string) => (await library.call('GET', `/api/storage/files/${id}`)).body;

describe('metadata', () => {
  test('is recorded, and is in every answer of the file', async () => {
    const metadata = { 'order.number': 4711, tags: 'red "and" blue\n', reviewed: false, ratio: 1e21, empty: '' };
    const recorded = await file({ metadata });
    expect(recorded).toMatchObject({ metadata, externalId: null });
    expect(await get(recorded.id)).toEqual(recorded);
    const { body } = await library.call('GET', `/api/storage/list?projectId=${library.projectId}`);
    expect(body.files.find(({ id }: { id: string }) => id === recorded.id)).toEqual(recorded);
  });

  test('is empty if none is given', async () => {
    expect(await file()).toMatchObject({ metadata: {}, externalId: null });
    const recorded = await file({ metadata: {} });
    expect(await get(recorded.id)).toMatchObject({ metadata: {} });
  });

  test.each([
    ['a list', []],
    ['null', null],
    ['a key with a space', { 'a b': 1 }],
    ['an empty key', { '': 1 }],
    ['a key of 65 characters', { ['k'.repeat(65)]: 1 }],
    ['null as a value', { a: null }],
    ['an object as a value', { a: {} }],
    ['a list as a value', { a: [1] }],
    ['NUL', { a: 'b\0c' }],
    ['33 keys', Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, n]))],
    ['over 4 KiB', { a: 'é'.repeat(2048) }],
  ])('of %s is refused', async (_, metadata) => {
    const answer = await expectProblem(record({ metadata }), 400, 'invalid_request');
    expect(answer.body.issues[0].path).toMatch(/^metadata/);
  });

  test.each([
    ['a number beyond all numbers', '{"a":1e999}'],
    ['half of a surrogate pair', '{"a":"\\ud800"}'],
    ['the prototype', '{"__proto__":"x"}'],
    ['ten thousand levels', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ])('with %s is refused', async (_, text) => {
    const body = JSON.stringify(await upload({ metadata: 'here' })).replace('"here"', text);
    await expectProblem(library.call('POST', '/api/storage/record', body as unknown), 400, 'invalid_request');
  });

  test.each(['constructor', 'toString', 'hasOwnProperty'])('may have the key %s', async (name) => {
    expect((await file({ metadata: { [name]: 'x' } })).metadata).toEqual({ [name]: 'x' });
  });

  test('of 4 KiB in 32 keys fits', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`key-${n}`, 'x'.repeat(112)]));
    expect((await file({ metadata })).metadata).toEqual(metadata);
  });

  test('is merged by a change, where null removes a key', async () => {
    const { id } = await file({ metadata: { kept: 1, changed: 1, removed: 1 } });
    const { body } = await change(id, { metadata: { changed: 'two', removed: null, absent: null, added: true } });
    expect(body.metadata).toEqual({ kept: 1, changed: 'two', added: true });
    expect(await get(id)).toEqual(body);
  });

  test('stays within its limits when it is merged', async () => {
    const { id } = await file({ metadata: { a: 'x'.repeat(3000) } });
    await expectProblem(change(id, { metadata: { b: 'x'.repeat(3000) } }), 400, 'invalid_request');
    expect((await change(id, { metadata: { a: null, b: 'x'.repeat(3000) } })).status).toBe(200);
  });

  test('loses nothing to concurrent changes', async () => {
    const { id } = await file();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => change(id, { metadata: { [`k${n}`]: n } })));
    expect(tally(answers)).toEqual({ 200: 20 });
    expect(Object.keys((await get(id)).metadata)).toHaveLength(20);
  });

  test('of a repeated recording may be in another order or left out, but not another', async () => {
    const recording = await upload({ metadata: { a: 1, b: 2 } });
    const again = (facts: object) => library.call('POST', '/api/storage/record', { ...recording, ...facts });
    const { body } = await again({});
    expect((await again({ metadata: { b: 2, a: 1 } })).body).toEqual(body);
    expect((await again({ metadata: undefined })).body).toEqual(body);
    const { body: problem } = await expectProblem(again({ metadata: { a: 1 } }), 409, 'already_recorded');
    expect(problem.detail).toContain('metadata');
  });
});

describe('an externalId', () => {
  test('is of one file of a project only', async () => {
    const externalId = 'one-of-a-kind';
    const { id } = await file({ externalId });
    expect(await get(id)).toMatchObject({ externalId });
    await expectProblem(record({ externalId }), 409, 'external_id_taken');
    const other = await file();
    await expectProblem(change(other.id, { externalId }), 409, 'external_id_taken');
    const elsewhere = await openLibrary(library.service);
    const recording = await library.service.upload({ key: elsewhere.key }, elsewhere.projectId, Buffer.from('bytes'));
    expect((await elsewhere.call('POST', '/api/storage/record', { ...recording, externalId })).status).toBe(200);
  });

  test.each(['', 'a\0b', 'é'.repeat(128), 5])('%j is refused', async (externalId) => {
    await expectProblem(record({ externalId }), 400, 'invalid_request');
  });

  test('is set, kept, moved and cleared by changes', async () => {
    const { id } = await file();
    expect((await change(id, { externalId: 'moving' })).body.externalId).toBe('moving');
    expect((await change(id, { externalId: 'moving' })).body.externalId).toBe('moving');
    expect((await change(id, { fileName: 'other.jpg' })).body.externalId).toBe('moving');
    expect((await change(id, { externalId: null })).body.externalId).toBeNull();
    expect((await file({ externalId: 'moving' })).externalId).toBe('moving');
  });

  test('goes to one of many recordings at once', async () => {
    const recordings = await Promise.all(Array.from({ length: 8 }, () => upload({ externalId: 'raced' })));
    const answers = await Promise.all(recordings.map((body) => library.call('POST', '/api/storage/record', body)));
    expect(tally(answers)).toEqual({ 200: 1, '409 external_id_taken': 7 });
  });

  test('is answered by a repeated recording', async () => {
    const recording = await upload({ externalId: 'repeated' });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => library.call('POST', '/api/storage/record', recording)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const other = library.call('POST', '/api/storage/record', { ...recording, externalId: 'another' });
    await expectProblem(other, 409, 'already_recorded');
  });

  test('of a deleted file is free, and then the file cannot be restored', async () => {
    const { id } = await file({ externalId: 'deleted' });
    await library.call('DELETE', `/api/storage/files/${id}`);
    const next = await file({ externalId: 'deleted' });
    await expectProblem(library.call('POST', `/api/storage/files/${id}/restore`), 409, 'external_id_taken');
    const bulk = { projectId: library.projectId, action: 'restore', fileIds: [id], folderIds: [] };
    await expectProblem(library.call('POST', '/api/storage/bulk', bulk), 409, 'external_id_taken');
    await library.call('DELETE', `/api/storage/files/${next.id}`);
    const restored = await library.call('POST', `/api/storage/files/${id}/restore`);
    expect(restored.body).toMatchObject({ id, externalId: 'deleted' });
    await expectProblem(record({ externalId: 'deleted' }), 409, 'external_id_taken');
    await expectProblem(library.call('POST', `/api/storage/files/${next.id}/restore`), 409, 'external_id_taken');
  });

  test('of a file in a deleted folder is free, and then the folder cannot be restored', async () => {
    const outer = await library.folder();
    const inner = await library.folder('inner', outer);
    await file({ externalId: 'in a folder' }, inner);
    await library.call('DELETE', `/api/storage/folders/${outer}?recursive=true`);
    const next = await file();
    expect((await change(next.id, { externalId: 'in a folder' })).status).toBe(200);
    const restore = () => library.call('POST', `/api/storage/folders/${outer}/restore`);
    await expectProblem(restore(), 409, 'external_id_taken');
    const bulk = { projectId: library.projectId, action: 'restore', fileIds: [], folderIds: [outer] };
    await expectProblem(library.call('POST', '/api/storage/bulk', bulk), 409, 'external_id_taken');
    expect((await library.listed()).folders).not.toContain(outer);
    await change(next.id, { externalId: null });
    expect((await restore()).status).toBe(200);
    await expectProblem(record({ externalId: 'in a folder' }), 409, 'external_id_taken');
  });

  test('is of one file in sight, however claims and a restored folder race', async () => {
    for (let round = 0; round < 5; round += 1) {
      const externalId = `race ${round}`;
      const folderId = await library.folder();
      const { id } = await file({ externalId }, folderId);
      await library.call('DELETE', `/api/storage/folders/${folderId}?recursive=true`);
      const claims = await Promise.all(Array.from({ length: 4 }, () => upload({ externalId })));
      const answers = await Promise.all([
        ...claims.map((body) => library.call('POST', '/api/storage/record', body)),
        library.call('POST', `/api/storage/folders/${folderId}/restore`),
      ]);
      expect(tally(answers)).toEqual({ 200: 1, '409 external_id_taken': 4 });
      const { body } = await library.call('GET', `/api/storage/list?projectId=${library.projectId}`);
      const holders = body.files.filter((one: { externalId: string }) => one.externalId === externalId);
      expect(holders).toHaveLength(1);
      expect(holders[0].id === id).toBe(answers[4]?.status === 200);
    }
  });

  test('of a file in quarantine is free; the file comes back without it if it was claimed', async () => {
    const { service, ada, projectId } = library;
    const { id: apiKeyId, key } = await service.createKey(ada, projectId);
    const since = new Date(service.deps.now() - 1000).toISOString();
    const recording = { ...(await service.upload({ key }, projectId, Buffer.from('bytes'))) };
    const quarantined = await service.call('POST', '/api/storage/record', {
      key,
      body: { ...recording, externalId: 'stolen' },
    });
    const kept = await service.call('POST', '/api/storage/record', {
      key,
      body: { ...(await service.upload({ key }, projectId, Buffer.from('bytes'))), externalId: 'untouched' },
    });
    const path = `/api/projects/${projectId}/quarantines`;
    const quarantine = await service.call('POST', path, { as: ada, body: { apiKeyId, since } });
    expect(quarantine.status, quarantine.text).toBe(200);
    const next = await file({ externalId: 'stolen' });
    const released = await service.call('POST', `${path}/${quarantine.body.id}/release`, { as: ada, body: {} });
    expect(released.status, released.text).toBe(200);
    expect(await get(quarantined.body.id)).toMatchObject({ externalId: null });
    expect(await get(kept.body.id)).toMatchObject({ externalId: 'untouched' });
    expect(await get(next.id)).toMatchObject({ externalId: 'stolen' });
    expect((await change(quarantined.body.id, { externalId: 'returned' })).status).toBe(200);
  });

  test('and metadata are taken by a project with a quota', async () => {
    const { service, ada, projectId } = await openLibrary(library.service);
    await service.call('PATCH', `/api/projects/${projectId}`, { as: ada, body: { quotaBytes: 1000 } });
    const one = async () => ({
      as: ada,
      body: {
        ...(await service.upload({ as: ada }, projectId, Buffer.from('bytes'))),
        externalId: 'within a quota',
        metadata: { a: 1 },
      },
    });
    const recordings = await Promise.all([one(), one(), one()]);
    const answers = await Promise.all(recordings.map((body) => service.call('POST', '/api/storage/record', body)));
    expect(tally(answers)).toEqual({ 200: 1, '409 external_id_taken': 2 });
  });
});

test('an upload in parts takes both when it is completed', async () => {
  const { call, projectId } = library;
  const declared = { projectId, fileName: 'film.mp4', mimeType: 'video/mp4', fileSize: 5, folderId: null };
  const { body: upload } = await call('POST', '/api/storage/uploads', declared);
  const { body: signed } = await call('POST', `/api/storage/uploads/${upload.uploadId}/parts`, { partNumbers: [1] });
  await send('PUT', signed.parts[0].presignedUrl, Buffer.from('bytes'));
  const complete = (body: object) => call('POST', `/api/storage/uploads/${upload.uploadId}/complete`, body);
  await file({ externalId: 'film' });
  await expectProblem(complete({ externalId: 'film' }), 409, 'external_id_taken');
  const extras = { externalId: 'another film', metadata: { scenes: 12 } };
  const { body } = await complete(extras);
  expect(body).toMatchObject(extras);
  expect((await complete(extras)).body).toEqual(body);
  expect((await complete({})).body).toEqual(body);
  await expectProblem(complete({ metadata: { scenes: 13 } }), 409, 'already_recorded');
});
