import { GetObjectCommand, HeadObjectCommand, NoSuchUpload } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  beginUpload,
  complete,
  md5,
  partBytes,
  partOf,
  type SentPart,
  sendPart,
  uploadInParts,
} from '../../test/multipart.ts';
import { blobFile, bucket, countOpen, send, startStore, type TestStore, until } from '../../test/running-store.ts';

let store: TestStore;
const bodies = [partOf(partBytes, 1), partOf(partBytes + 1, 2), partOf(3, 3)];
const whole = Buffer.concat(bodies);
const etag = `"${md5(Buffer.concat(bodies.map((body) => Buffer.from(md5(body), 'hex'))))}-3"`;

beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

const get = async (key: string) => (await send('GET', store.presign('GET', key))).body;
const files = () => store.files().length;

/** Sends this XML unchanged. */
const completeRaw = (key: string, uploadId: string, body: string | Buffer) =>
  send('POST', store.presign('POST', key, { query: { uploadId } }), { body });

async function uploadOne(key: string, body: string): Promise<{ uploadId: string; part: SentPart }> {
  const uploadId = await beginUpload(store, key);
  return { uploadId, part: await sendPart(store, key, uploadId, 1, body) };
}

describe('an object with three parts', () => {
  beforeAll(async () => {
    expect(await uploadInParts(store, 'three', bodies)).toBe(etag);
  });

  test('is whole, and has S3’s ETag', async () => {
    expect(md5(await get('three'))).toBe(md5(whole));
    const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'three' }));
    expect(head).toMatchObject({ ContentLength: whole.length, ETag: etag });
  });

  const second = partBytes;
  const third = 2 * partBytes + 1;
  test.each([
    ['within a part', 10, 20],
    ['the last byte of a part', second - 1, second - 1],
    ['the first byte of a part', second, second],
    ['over a border', second - 1, second],
    ['over both borders', second - 1, third],
    ['a whole part', second, third - 1],
    ['the last part', third, third + 2],
    ['all', 0, third + 2],
  ])('ranges: %s', async (_name, first, last) => {
    const range = `bytes=${first}-${last}`;
    const answer = await send('GET', store.presign('GET', 'three'), { headers: { range } });
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBe(`bytes ${first}-${last}/${whole.length}`);
    expect(answer.body.equals(whole.subarray(first, last + 1))).toBe(true);
  });

  test('a suffix and a range past the end', async () => {
    const at = (range: string) => send('GET', store.presign('GET', 'three'), { headers: { range } });
    expect((await at('bytes=-5')).body.equals(whole.subarray(-5))).toBe(true);
    expect((await at(`bytes=${whole.length}-`)).code).toBe('InvalidRange');
  });

  test('a part, by its number', async () => {
    for (const [at, body] of bodies.entries()) {
      const part = { Bucket: bucket, Key: 'three', PartNumber: at + 1 };
      const head = await store.client.send(new HeadObjectCommand(part));
      expect(head).toMatchObject({ ContentLength: body.length, PartsCount: 3, ETag: etag });
      const got = await store.client.send(new GetObjectCommand(part));
      expect(body.equals((await got.Body?.transformToByteArray()) ?? Buffer.alloc(0))).toBe(true);
    }
    const fourth = await send('GET', store.presign('GET', 'three', { query: { partNumber: '4' } }));
    expect([fourth.status, fourth.code]).toEqual([416, 'InvalidPartNumber']);
  });

  test('a reader keeps it while it is replaced', async () => {
    await uploadInParts(store, 'moving', bodies);
    const before = files();
    const reading = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'moving' }));
    await send('PUT', store.presign('PUT', 'moving'), { body: 'short' });
    const bytes = Buffer.from((await reading.Body?.transformToByteArray()) ?? []);
    expect(md5(bytes)).toBe(md5(whole));
    await until(() => files() === before - 3);
  });

  test('readers that leave early leave no file open, and hold none', async () => {
    await uploadInParts(store, 'left', bodies);
    const before = files();
    const opened = () => countOpen(blobFile);
    for (let round = 0; round < 20; round += 1) {
      const leaving = new AbortController();
      const headers = { range: `bytes=${round * 250_000}-` };
      const answer = await fetch(store.presign('GET', 'left'), { headers, signal: leaving.signal });
      await answer.body?.getReader().read();
      leaving.abort();
    }
    await send('DELETE', store.presign('DELETE', 'left'));
    await until(() => opened() === 0 && files() === before - 3);
  });

  test('its files are removed with it', async () => {
    const before = files();
    await uploadInParts(store, 'gone', bodies);
    expect(files()).toBe(before + 3);
    await send('DELETE', store.presign('DELETE', 'gone'));
    await until(() => files() === before);
  });

  test('replaces another one, whose files are removed', async () => {
    await uploadInParts(store, 'replaced', bodies);
    const before = files();
    await uploadInParts(store, 'replaced', bodies.toReversed().slice(1));
    expect(md5(await get('replaced'))).toBe(md5(Buffer.concat(bodies.toReversed().slice(1))));
    await until(() => files() === before - 1);
  });
});

describe.each([
  ['alike', [partBytes, partBytes, 3]],
  ['alike, but for a longer last one', [partBytes, partBytes, partBytes + 7]],
  ['not alike', [partBytes + 1, partBytes, partBytes, 1]],
  ['of which the last has no bytes', [partBytes, partBytes, 0]],
])('parts that are %s', (name, sizes) => {
  const sent = sizes.map((size, at) => partOf(size, at));
  const bytes = Buffer.concat(sent);
  beforeAll(() => uploadInParts(store, name, sent));

  test('any range', async () => {
    let begin = 0;
    const offsets = [...sizes, 0].flatMap((size) => {
      begin += size;
      return [begin - 1 - size, begin - size, begin - size + 1];
    });
    const inside = [...new Set(offsets)].filter((offset) => offset >= 0 && offset < bytes.length);
    for (const first of inside) {
      for (const last of inside.filter((offset) => offset >= first)) {
        const headers = { range: `bytes=${first}-${last}` };
        const answer = await send('GET', store.presign('GET', name), { headers });
        expect(answer.body.equals(bytes.subarray(first, last + 1)), headers.range).toBe(true);
      }
    }
  });

  test('each by its number', async () => {
    for (const [at, part] of sent.entries()) {
      const answer = await send('GET', store.presign('GET', name, { query: { partNumber: String(at + 1) } }));
      expect(answer.body.equals(part), `part ${at + 1}`).toBe(true);
    }
  });
});

test('the parts are those named, in the order of their numbers, not of their arrival; others are removed', async () => {
  const uploadId = await beginUpload(store, 'chosen');
  const before = files();
  const third = await sendPart(store, 'chosen', uploadId, 30, 'end');
  const first = await sendPart(store, 'chosen', uploadId, 7, bodies[0] ?? '');
  await sendPart(store, 'chosen', uploadId, 8, 'left out');
  await complete(store, 'chosen', uploadId, [first, third]);
  expect(md5(await get('chosen'))).toBe(md5(Buffer.concat([bodies[0] ?? Buffer.alloc(0), Buffer.from('end')])));
  await until(() => files() === before + 2);
});

test('a single part without bytes', async () => {
  const { uploadId, part } = await uploadOne('empty', '');
  await complete(store, 'empty', uploadId, [part]);
  const answer = await send('GET', store.presign('GET', 'empty'));
  expect([answer.status, answer.body.length]).toEqual([200, 0]);
});

test('repeated with the same parts, while the object is still this one: the same answer', async () => {
  const { uploadId, part } = await uploadOne('again', 'hello');
  const first = await complete(store, 'again', uploadId, [part]);
  expect((await complete(store, 'again', uploadId, [part])).ETag).toBe(first.ETag);
  expect((await complete(store, 'again', uploadId, [part], { IfNoneMatch: '*' })).ETag).toBe(first.ETag);
  const other = { PartNumber: 2, ETag: part.ETag };
  await expect(complete(store, 'again', uploadId, [other])).rejects.toMatchObject({ name: 'InvalidPart' });
  await send('PUT', store.presign('PUT', 'again'), { body: 'newer' });
  await expect(complete(store, 'again', uploadId, [part])).rejects.toThrow(NoSuchUpload);
  expect((await get('again')).toString()).toBe('newer');
});

test('if presigned URLs write once: an existing object stays, unless it would be the same', async () => {
  const once = await startStore({ presignedOverwrite: 'deny' });
  const sendOne = async (body: string) => {
    const uploadId = await beginUpload(once, 'sealed');
    const { ETag } = await sendPart(once, 'sealed', uploadId, 1, body);
    const xml = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${ETag}</ETag></Part></CompleteMultipartUpload>`;
    const answer = await send('POST', once.presign('POST', 'sealed', { query: { uploadId } }), { body: xml });
    const head = await send('GET', once.presign('GET', 'sealed', { query: { uploadId } }));
    return [answer.status, head.status];
  };
  expect(await sendOne('first')).toEqual([200, 404]);
  expect(await sendOne('other')).toEqual([412, 200]);
  expect(await sendOne('first')).toEqual([200, 404]);
  expect((await send('GET', once.presign('GET', 'sealed'))).text).toBe('first');
  await until(() => once.files().length === 2); // the object's, and that of the upload that was refused
  await once.close();
});

describe('conditions', () => {
  test('If-None-Match: * refuses if there is an object; the upload stays', async () => {
    await send('PUT', store.presign('PUT', 'there'), { body: 'there' });
    const { uploadId, part } = await uploadOne('there', 'hello');
    const completing = complete(store, 'there', uploadId, [part], { IfNoneMatch: '*' });
    await expect(completing).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect((await get('there')).toString()).toBe('there');
    await complete(store, 'there', uploadId, [part]);
    expect((await get('there')).toString()).toBe('hello');
  });

  test('If-Match replaces only the named object', async () => {
    const put = await send('PUT', store.presign('PUT', 'match'), { body: 'there' });
    const { uploadId, part } = await uploadOne('match', 'hello');
    const refused = complete(store, 'match', uploadId, [part], { IfMatch: '"other"' });
    await expect(refused).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await complete(store, 'match', uploadId, [part], { IfMatch: String(put.headers.etag) });
    expect((await get('match')).toString()).toBe('hello');
  });

  test('of eight uploads with If-None-Match: *, one wins and the others can be aborted', async () => {
    const before = files();
    const uploads = await Promise.all(Array.from({ length: 8 }, (_, at) => uploadOne('race', `body ${at}`)));
    const outcomes = await Promise.allSettled(
      uploads.map(({ uploadId, part }) => complete(store, 'race', uploadId, [part], { IfNoneMatch: '*' })),
    );
    const won = outcomes.flatMap(({ status }, at) => (status === 'fulfilled' ? [`body ${at}`] : []));
    expect(won).toEqual([(await get('race')).toString()]);
    const lost = uploads.filter((_, at) => outcomes[at]?.status === 'rejected');
    for (const { uploadId } of lost) {
      const answer = await send('DELETE', store.presign('DELETE', 'race', { query: { uploadId } }));
      expect(answer.status).toBe(204);
    }
    await until(() => files() === before + 1);
  });
});

describe('races', () => {
  test('two Completes of one upload: both are answered 200', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { uploadId, part } = await uploadOne('both', `round ${round}`);
      const [one, two] = await Promise.all([1, 2].map(() => complete(store, 'both', uploadId, [part])));
      expect(one?.ETag).toBe(two?.ETag);
      expect((await get('both')).toString()).toBe(`round ${round}`);
    }
  });

  test('two Completes that name different parts: the first wins, the other is refused', async () => {
    const before = files();
    const uploadId = await beginUpload(store, 'either');
    const parts = [
      await sendPart(store, 'either', uploadId, 1, 'one'),
      await sendPart(store, 'either', uploadId, 2, 'two'),
    ];
    const outcomes = await Promise.allSettled(parts.map((part) => complete(store, 'either', uploadId, [part])));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.name] : []));
    expect(['InvalidPart', 'NoSuchUpload']).toEqual(expect.arrayContaining(reasons));
    expect((await get('either')).toString()).toBe(outcomes[0]?.status === 'fulfilled' ? 'one' : 'two');
    await until(() => files() === before + 1);
  });

  test('Complete and Abort: one succeeds, the other finds no upload', async () => {
    const before = files();
    for (let round = 0; round < 10; round += 1) {
      const key = `abort ${round}`;
      const { uploadId, part } = await uploadOne(key, 'hello');
      const abort = () => send('DELETE', store.presign('DELETE', key, { query: { uploadId } }));
      const completing = () =>
        complete(store, key, uploadId, [part]).then(
          () => 200,
          (error: { name: string }) => error.name,
        );
      const [completed, aborted] = await (round % 2 === 0
        ? Promise.all([completing(), abort()])
        : Promise.all([abort(), completing()]).then(([a, c]) => [c, a] as const));
      const there = (await send('HEAD', store.presign('HEAD', key))).status === 200;
      expect([completed, aborted.status]).toEqual(there ? [200, 404] : ['NoSuchUpload', 204]);
      await send('DELETE', store.presign('DELETE', key));
    }
    await until(() => files() === before);
  });

  test('Complete while a part is sent again: the object has one of the two, whole', async () => {
    const before = files();
    for (let round = 0; round < 10; round += 1) {
      const { uploadId, part } = await uploadOne('part', 'first');
      const query = { partNumber: '1', uploadId };
      const [completed, again] = await Promise.all([
        complete(store, 'part', uploadId, [part]).catch((error: { name: string }) => error),
        send('PUT', store.presign('PUT', 'part', { query }), { body: 'other' }),
      ]);
      if ('name' in completed) {
        expect([completed.name, again.status]).toEqual(['InvalidPart', 200]);
        await complete(store, 'part', uploadId, [{ PartNumber: 1, ETag: String(again.headers.etag) }]);
      } else {
        expect(again.code).toBe('NoSuchUpload');
      }
      expect((await get('part')).toString()).toBe('name' in completed ? 'other' : 'first');
    }
    await until(() => files() === before + 1);
  });
});

describe('refuses, and changes nothing', () => {
  let uploadId = '';
  let parts: SentPart[] = [];
  beforeAll(async () => {
    uploadId = await beginUpload(store, 'refused');
    parts = [
      await sendPart(store, 'refused', uploadId, 1, 'small'),
      await sendPart(store, 'refused', uploadId, 2, 'end'),
    ];
  });

  const xml = (...named: (Partial<SentPart> | undefined)[]) => {
    const lines = named.map(
      (part) => `<Part><PartNumber>${part?.PartNumber}</PartNumber><ETag>${part?.ETag}</ETag></Part>`,
    );
    return `<CompleteMultipartUpload>${lines.join('')}</CompleteMultipartUpload>`;
  };
  const cases: [name: string, status: number, code: string, body: () => string][] = [
    ['a small part before the last', 400, 'EntityTooSmall', () => xml(...parts)],
    ['a part that was not sent', 400, 'InvalidPart', () => xml({ PartNumber: 3, ETag: parts[0]?.ETag ?? '' })],
    ['another ETag', 400, 'InvalidPart', () => xml({ PartNumber: 1, ETag: parts[1]?.ETag ?? '' })],
    ['an ETag that is none', 400, 'InvalidPart', () => xml({ PartNumber: 1, ETag: 'x' })],
    ['part 0', 400, 'InvalidPart', () => xml({ ...parts[0], PartNumber: 0 })],
    ['part 10001', 400, 'InvalidPart', () => xml({ ...parts[0], PartNumber: 10_001 })],
    ['parts out of order', 400, 'InvalidPartOrder', () => xml(parts[1], parts[0])],
    ['a part twice', 400, 'InvalidPartOrder', () => xml(parts[0], parts[0])],
    ['no parts', 400, 'MalformedXML', () => xml()],
    ['no body', 400, 'MalformedXML', () => ''],
    ['no XML', 400, 'MalformedXML', () => '{"Parts":[]}'],
    ['another document', 400, 'MalformedXML', () => '<Delete><Object><Key>a</Key></Object></Delete>'],
    ['a number that is none', 400, 'MalformedXML', () => xml({ ETag: 'x' })],
    [
      'a part without an ETag',
      400,
      'MalformedXML',
      () => '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>',
    ],
    ['a DOCTYPE', 400, 'MalformedXML', () => `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>${xml(parts[0])}`],
    [
      'more parts than there can be',
      400,
      'MalformedXML',
      () => xml(...Array.from({ length: 10_001 }, (_, at) => ({ PartNumber: at + 1, ETag: 'x' }))),
    ],
  ];

  test.each(cases)('%s: %i %s', async (_name, status, code, body) => {
    const answer = await completeRaw('refused', uploadId, body());
    expect([answer.status, answer.code]).toEqual([status, code]);
    expect((await send('HEAD', store.presign('HEAD', 'refused'))).status).toBe(404);
  });

  test('and the upload can still be completed', async () => {
    const answer = await completeRaw('refused', uploadId, xml(parts[1]));
    expect(answer.status).toBe(200);
    expect((await get('refused')).toString()).toBe('end');
  });

  test('an unknown upload, and the upload of another key', async () => {
    const { uploadId: other, part } = await uploadOne('mine', 'hello');
    const ids: [key: string, id: string][] = [
      ['refused', '0'.repeat(44)],
      ['refused', 'x'],
      ['refused', other],
    ];
    for (const [key, id] of ids) {
      const answer = await completeRaw(key, id, xml(part));
      expect([answer.status, answer.code]).toEqual([404, 'NoSuchUpload']);
    }
  });
});

test('10,000 parts', async () => {
  const uploadId = await beginUpload(store, 'ten-thousand');
  const last = await sendPart(store, 'ten-thousand', uploadId, 10_000, 'end');
  const names = Array.from({ length: 9_999 }, (_, at) => ({ PartNumber: at + 1, ETag: last.ETag }));
  await expect(complete(store, 'ten-thousand', uploadId, [...names, last])).rejects.toMatchObject({
    name: 'InvalidPart',
  });
  await complete(store, 'ten-thousand', uploadId, [last]);
});
