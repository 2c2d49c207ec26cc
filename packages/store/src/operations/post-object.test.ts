import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fields, formBody, formType, signForm, signPolicy } from '../../test/form.ts';
import { md5, partOf } from '../../test/multipart.ts';
import { type Answer, bucket, region, send, startStore, type TestStore, until } from '../../test/running-store.ts';
import { openByteReader } from '../protocol/byte-reader.ts';
import { readForm } from '../protocol/form-data.ts';
import { readPolicy, requireAllowed } from '../protocol/post-policy.ts';
import { S3Error } from '../protocol/s3-error.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore({ maxObjectBytes: 1_000_000 });
});
afterAll(() => store.close());

function post(body: Buffer, { to = bucket, headers = {} }: { to?: string; headers?: Fields } = {}): Promise<Answer> {
  return send('POST', `${store.endpoint}/${to}`, { headers: { 'content-type': formType, ...headers }, body });
}

const read = async (Key: string) => {
  const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key }));
  return { ...got, text: await got.Body?.transformToString() };
};

describe('takes', () => {
  test('a file, with its headers and metadata', async () => {
    const fields = { key: 'a b/ü', 'Content-Type': 'image/jpeg', 'x-amz-meta-by': 'me', 'Cache-Control': 'no-store' };
    const answer = await post(formBody(signForm(fields), 'hello'));
    expect([answer.status, answer.text, answer.headers.etag]).toEqual([204, '', `"${md5('hello')}"`]);
    expect(answer.headers.location).toBe(`${store.endpoint}/${bucket}/a%20b/%C3%BC`);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    const { text, ContentType, CacheControl, Metadata } = await read('a b/ü');
    expect({ text, ContentType, CacheControl, Metadata }).toEqual({
      text: 'hello',
      ContentType: 'image/jpeg',
      CacheControl: 'no-store',
      Metadata: { by: 'me' },
    });
  });

  test('no bytes, bytes that look like a boundary, and a large file', async () => {
    const bodies = ['', '\r\n--a-boundary-of-the-test\r\n--\r\n', partOf(900_000, 1)];
    for (const body of bodies) {
      expect((await post(formBody(signForm({ key: 'bytes' }), body))).status).toBe(204);
      const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'bytes' }));
      expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(Buffer.from(body))).toBe(true);
    }
  });

  test("a key made from the file's name, without its folders", async () => {
    const fields = signForm({ key: `in/$\{filename}` }, [['starts-with', '$key', 'in/']], { covered: [] });
    await post(formBody(fields, 'hello', 'C:\\photos\\my "ü".jpg'.replaceAll('"', '%22')));
    expect((await read('in/my "ü".jpg')).text).toBe('hello');
  });

  test.each([
    ['200', 200, ''],
    ['201', 201, '<Key>status</Key>'],
    ['204', 204, ''],
    ['302', 204, ''],
  ])('success_action_status %s', async (success_action_status, status, text) => {
    const answer = await post(formBody(signForm({ key: 'status', success_action_status }), 'hello'));
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(text);
    expect(answer.headers.etag).toBe(`"${md5('hello')}"`);
  });

  test('success_action_redirect', async () => {
    const fields = { key: 'redirect', success_action_redirect: 'https://example.org/done?a=b' };
    const answer = await post(formBody(signForm(fields), 'hello'));
    const query = `a=b&bucket=${bucket}&key=redirect&etag=%22${md5('hello')}%22`;
    expect([answer.status, answer.headers.location]).toEqual([303, `https://example.org/done?${query}`]);
  });

  test('every kind of condition, ignored fields, and data after the file', async () => {
    const more = [
      ['eq', '$key', 'conditions'],
      ['starts-with', '$Content-Type', 'image/'],
      ['starts-with', '$x-amz-meta-any', ''],
      ['content-length-range', 5, '5'],
    ];
    const fields = { key: 'conditions', 'content-type': 'image/png', 'x-amz-meta-any': 'x', acl: 'private' };
    const signed = signForm(fields, more, { covered: ['acl'] });
    const body = formBody({ ...signed, 'x-ignore-this': 'x' }, 'hello').toString('latin1');
    const submit = 'Content-Disposition: form-data; name="submit"\r\n\r\nUpload\r\n--a-boundary-of-the-tests--\r\n';
    const answer = await post(Buffer.from(body.replace(/--\r\n$/, `\r\n${submit}`), 'latin1'));
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await read('conditions')).text).toBe('hello');
  });

  test('a checksum, and the bucket with a slash', async () => {
    const signed = signForm({ key: 'checksum', 'x-amz-checksum-crc32': 'NhCmhg==' });
    const answer = await post(formBody(signed, 'hello'), { to: `${bucket}/` });
    expect([answer.status, answer.headers['x-amz-checksum-crc32']]).toEqual([204, 'NhCmhg==']);
  });
});

test('a form is for a bucket: sent to an object it is an unsigned request, however the slash is written', async () => {
  for (const to of [`${bucket}/key`, `${bucket}%2Fkey`]) {
    const answer = await post(formBody(signForm({ key: 'elsewhere' }), 'hello'), { to });
    expect([answer.status, answer.code]).toEqual([403, 'AccessDenied']);
  }
});

test('a form for another region is refused with the right one', async () => {
  const form = signForm({ key: 'elsewhere' });
  const credential = String(form['x-amz-credential']).replace(region, 'eu-west-1');
  const answer = await post(formBody({ ...form, 'x-amz-credential': credential }, 'hello'));
  expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
  expect(answer.headers['x-amz-bucket-region']).toBe(region);
  expect(answer.text).toContain(`<Region>${region}</Region>`);
});

describe('refuses, and stores nothing', () => {
  const key = 'refused';
  const good = () => signForm({ key });
  const without = (name: string) => () =>
    Object.fromEntries(Object.entries(good()).filter(([field]) => field !== name));
  const date = () => new Date().toISOString().slice(0, 10).replaceAll('-', '');
  const policy = (document: string) => () => ({ ...good(), ...signPolicy(document, date()) });
  const soon = '"expiration":"2100-01-01T00:00:00Z"';
  const any = ['bucket', 'key', 'x-amz-date', 'x-amz-algorithm', 'x-amz-credential'];
  const anywhere = policy(
    `{${soon},"conditions":${JSON.stringify(any.map((name) => ['starts-with', `$${name}`, '']))}}`,
  );

  const cases: [name: string, status: number, code: string, fields: () => Fields, file?: string][] = [
    ['an unsigned form', 403, 'AccessDenied', () => ({ key })],
    ['a form of Signature Version 2', 400, 'InvalidRequest', () => ({ key, AWSAccessKeyId: 'x', Signature: 'y' })],
    ['no signature', 400, 'InvalidArgument', without('x-amz-signature')],
    ['no credential', 400, 'InvalidArgument', without('x-amz-credential')],
    ['no date', 400, 'InvalidArgument', without('x-amz-date')],
    ['no algorithm', 400, 'InvalidArgument', without('x-amz-algorithm')],
    ['no key', 400, 'InvalidArgument', without('key')],
    ['an empty key', 400, 'InvalidArgument', () => signForm({ key: '' })],
    ['a key that is too long', 400, 'KeyTooLongError', () => signForm({ key: 'x'.repeat(1025) })],
    ['another signature', 403, 'SignatureDoesNotMatch', () => ({ ...good(), 'x-amz-signature': '0'.repeat(64) })],
    [
      'another policy',
      403,
      'SignatureDoesNotMatch',
      () => ({ ...good(), policy: signForm({ key: 'other' }).policy ?? '' }),
    ],
    ['another key', 403, 'AccessDenied', () => ({ ...good(), key: 'other' })],
    ['a policy that has expired', 403, 'AccessDenied', () => signForm({ key }, [], { expiresInSeconds: -1 })],
    ['a form dated an hour ahead', 403, 'AccessDenied', () => signForm({ key }, [], { now: Date.now() + 3_600_000 })],
    ['a field that no condition names', 403, 'AccessDenied', () => ({ ...good(), 'x-amz-meta-a': 'b' })],
    [
      'a redirect that no condition names',
      403,
      'AccessDenied',
      () => ({ ...good(), success_action_redirect: 'https://example.org' }),
    ],
    [
      'a redirect to a script',
      400,
      'InvalidArgument',
      () => signForm({ key, success_action_redirect: 'javascript:alert(1)' }),
    ],
    [
      'a condition on a field that is not there',
      403,
      'AccessDenied',
      () => signForm({ key }, [['starts-with', '$content-type', '']]),
    ],
    ['another beginning', 403, 'AccessDenied', () => signForm({ key }, [['starts-with', '$key', 'user/']])],
    ['a policy for another bucket', 403, 'AccessDenied', () => signForm({ key }, [{ bucket: 'other' }])],
    [
      'a policy that names no bucket',
      403,
      'AccessDenied',
      policy(
        `{${soon},"conditions":[["starts-with","$key",""],["starts-with","$x-amz-date",""],["starts-with","$x-amz-algorithm",""],["starts-with","$x-amz-credential",""]]}`,
      ),
    ],
    ['another bucket in the form', 403, 'AccessDenied', () => signForm({ key, bucket: 'other' })],
    ['a file that is too large', 400, 'EntityTooLarge', () => signForm({ key }, [['content-length-range', 0, 4]])],
    ['a file that is too small', 400, 'EntityTooSmall', () => signForm({ key }, [['content-length-range', 6, 10]])],
    [
      'a file that is far too small',
      400,
      'EntityTooSmall',
      () => signForm({ key }, [['content-length-range', 1e6, 1e7]]),
    ],
    ['more than the largest object', 400, 'EntityTooLarge', good, 'x'.repeat(1_000_001)],
    ['an ACL that is public', 400, 'AccessControlListNotSupported', () => signForm({ key, acl: 'public-read' })],
    ['tags', 501, 'NotImplemented', () => signForm({ key, tagging: '<Tagging/>' })],
    ['encryption', 501, 'NotImplemented', () => signForm({ key, 'x-amz-server-side-encryption': 'AES256' })],
    ['a session token', 501, 'NotImplemented', () => signForm({ key, 'x-amz-security-token': 'x' })],
    ['another storage class', 501, 'NotImplemented', () => signForm({ key, 'x-amz-storage-class': 'GLACIER' })],
    ['a line break in a header', 400, 'InvalidArgument', () => signForm({ key, 'content-type': 'a\r\nset-cookie: b' })],
    ['a name that no header has', 400, 'InvalidArgument', () => signForm({ key, 'x-amz-meta-a b': 'c' })],
    ['too much metadata', 400, 'MetadataTooLarge', () => signForm({ key, 'x-amz-meta-a': 'x'.repeat(2048) })],
    [
      'too many bytes before the file',
      400,
      'MaxPostPreDataLengthExceeded',
      () => ({ ...good(), 'x-ignore-a': 'x'.repeat(21_000) }),
    ],
    ['a wrong checksum', 400, 'BadDigest', () => signForm({ key, 'x-amz-checksum-crc32': 'AAAAAA==' })],
    ['a policy that is no JSON', 400, 'InvalidPolicyDocument', policy('{')],
    ['a policy that does not expire', 400, 'InvalidPolicyDocument', policy('{"conditions":[]}')],
    ['a policy with no conditions', 400, 'InvalidPolicyDocument', policy(`{${soon}}`)],
    ['an unknown condition', 400, 'InvalidPolicyDocument', policy(`{${soon},"conditions":[["ends-with","$key","x"]]}`)],
    [
      'a condition of two fields',
      400,
      'InvalidPolicyDocument',
      policy(`{${soon},"conditions":[{"key":"a","bucket":"b"}]}`),
    ],
    [
      'a range of no numbers',
      400,
      'InvalidPolicyDocument',
      policy(`{${soon},"conditions":[["content-length-range",-1,"x"]]}`),
    ],
  ];

  test.each(cases)('%s: %i %s', async (_name, status, code, fields, file = 'hello') => {
    const files = store.files().length;
    const answer = await post(formBody(fields(), file));
    expect([answer.status, answer.code]).toEqual([status, code]);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    await until(() => store.files().length === files);
    expect((await send('HEAD', store.presign('HEAD', key))).status).toBe(404);
  });

  const malformed: [name: string, status: number, code: string, body: () => Buffer | string, options?: object][] = [
    ['no file', 400, 'InvalidArgument', () => formBody(good())],
    [
      'another content type',
      403,
      'AccessDenied',
      () => formBody(good(), 'hello'),
      { headers: { 'content-type': 'text/plain' } },
    ],
    [
      'no boundary',
      400,
      'MalformedPOSTRequest',
      () => formBody(good(), 'hello'),
      { headers: { 'content-type': 'multipart/form-data' } },
    ],
    [
      'another boundary',
      400,
      'MalformedPOSTRequest',
      () => formBody(good(), 'hello'),
      { headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    ],
    ['no form', 400, 'IncompleteBody', () => ''],
    ['a form without its end', 400, 'IncompleteBody', () => formBody(good(), 'hello').subarray(0, -10)],
    [
      'a field twice',
      400,
      'InvalidArgument',
      () => Buffer.concat([formBody({ key }).subarray(0, -29), formBody(good(), 'hello')]),
    ],
    ['the form of another bucket', 403, 'AccessDenied', () => formBody(good(), 'hello'), { to: 'absent' }],
    ['an absent bucket', 404, 'NoSuchBucket', () => formBody(anywhere(), 'hello'), { to: 'absent' }],
    ['an object instead of a bucket', 403, 'AccessDenied', () => formBody(good(), 'hello'), { to: `${bucket}/${key}` }],
    [
      'credentials in the header too',
      400,
      'InvalidArgument',
      () => formBody(good(), 'hello'),
      { headers: { authorization: 'Bearer x' } },
    ],
    [
      'chunks',
      411,
      'MissingContentLength',
      () => formBody(good(), 'hello'),
      { headers: { 'transfer-encoding': 'chunked' } },
    ],
  ];

  test.each(malformed)('%s: %i %s', async (_name, status, code, body, options = {}) => {
    const files = store.files().length;
    const answer = await post(Buffer.from(body()), options);
    expect([answer.status, answer.code]).toEqual([status, code]);
    await until(() => store.files().length === files);
  });

  test('a second file for the key, if an address writes once', async () => {
    const once = await startStore({ presignedOverwrite: 'deny' });
    const to = (file: string) =>
      send('POST', `${once.endpoint}/${bucket}`, {
        headers: { 'content-type': formType },
        body: formBody(signForm({ key }), file),
      });
    const answers = [await to('first'), await to('first'), await to('other')];
    expect(answers.map(({ status, code }) => [status, code])).toEqual([
      [204, undefined],
      [204, undefined],
      [412, 'PreconditionFailed'],
    ]);
    await once.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: 'the owner may' }));
    await once.close();
  });
});

describe('random input', () => {
  test('a form with any one signed character changed is refused', async () => {
    const fields = signForm({ key: 'altered', 'content-type': 'image/png' }, [['content-length-range', 0, 5]]);
    const edit = fc.record({
      name: fc.constantFrom(...Object.keys(fields)),
      at: fc.nat(),
      character: fc.constantFrom(...'0aA+/=$ {'),
    });
    await fc.assert(
      fc.asyncProperty(edit, async ({ name, at, character }) => {
        const value = fields[name] ?? '';
        const index = at % value.length;
        const altered = value.slice(0, index) + character + value.slice(index + 1);
        fc.pre(altered !== value);
        expect((await post(formBody({ ...fields, [name]: altered }, 'hello'))).status).toBeGreaterThanOrEqual(400);
      }),
      { numRuns: 150 },
    );
  });

  test('a policy is read or refused, and never allows what it does not name', () => {
    const text = fc.constantFrom('key', '$key', 'eq', 'starts-with', 'content-length-range', '', 'x');
    const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.jsonValue());
    const condition = fc.oneof(
      fc.array(value, { maxLength: 4 }),
      fc.dictionary(text, value, { maxKeys: 2 }),
      fc.jsonValue(),
    );
    const expiration = fc.oneof(fc.constant('2100-01-01T00:00:00Z'), fc.jsonValue());
    fc.assert(
      fc.property(fc.record({ expiration, conditions: fc.oneof(fc.array(condition), fc.jsonValue()) }), (document) => {
        try {
          const policy = readPolicy(Buffer.from(JSON.stringify(document)).toString('base64'));
          requireAllowed(policy, new Map([['never-named', 'x']]), 0);
          expect.unreachable();
        } catch (error) {
          expect(error).toBeInstanceOf(S3Error);
        }
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.string(), (noise) => {
        expect(() => readPolicy(noise)).toThrow(S3Error);
      }),
    );
  });

  test('a form is read or refused, however it is split', async () => {
    const valid = formBody({ key: 'k', other: 'v\r\n--a-boundary' }, 'the file').toString('latin1');
    const noise = fc.constantFrom(
      '\r\n',
      '--',
      'a-boundary-of-the-tests',
      'Content-Disposition: form-data; name="x"',
      '\0',
      'file',
    );
    const edits = fc.array(fc.tuple(fc.nat({ max: valid.length }), noise), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(edits, fc.integer({ min: 1, max: 64 }), async (inserted, step) => {
        let text = valid;
        for (const [at, what] of inserted) text = text.slice(0, at) + what + text.slice(at);
        async function* pieces() {
          for (let at = 0; at < text.length; at += step) yield Buffer.from(text.slice(at, at + step), 'latin1');
        }
        try {
          const form = await readForm(openByteReader(pieces()), 'a-boundary-of-the-tests');
          let file = '';
          for await (const piece of form.file()) file += piece.toString('latin1');
          if (inserted.length === 0)
            expect([form.fields.get('other'), file]).toEqual(['v\r\n--a-boundary', 'the file']);
        } catch (error) {
          expect(error).toBeInstanceOf(S3Error);
        }
      }),
      { numRuns: 500 },
    );
  });
});
