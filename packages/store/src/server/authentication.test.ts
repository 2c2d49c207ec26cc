import { createHash } from 'node:crypto';
import { CreateMultipartUploadCommand, ListBucketsCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { createPresigner, createRequestSigner, uriEncode, uriEncodePath } from '@cadiz/sigv4';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, bucket, keys, region, send, startStore, type TestStore } from '../../test/running-store.ts';
import { allOperations } from './routes.ts';

/** A request that succeeds if it is signed. */
interface Row {
  /** of the successful answer */
  status: number;
  bucket?: string;
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
}

let store: TestStore;
let endpoint = '';
let host = '';
beforeAll(async () => {
  store = await startStore();
  endpoint = store.endpoint;
  host = `127.0.0.1:${store.port}`;
  await send('PUT', store.presign('PUT', 'there'), { body: 'hello' });
});
afterAll(() => store.close());

let made = 0;
async function newBucket(): Promise<string> {
  made += 1;
  const name = `made-${made}`;
  await send('PUT', store.presign('PUT', '', { bucket: name }));
  return name;
}

async function newUpload(parts: number): Promise<{ key: string; uploadId: string }> {
  const key = 'uploaded';
  const { UploadId: uploadId = '' } = await store.client.send(
    new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }),
  );
  for (let part = 1; part <= parts; part += 1) {
    const query = { uploadId, partNumber: String(part) };
    await send('PUT', store.presign('PUT', key, { query }), { body: 'part' });
  }
  return { key, uploadId };
}

const etag = createHash('md5').update('part').digest('hex');
const parts = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
const corsRule = '<CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule>';
const copySource = { 'x-amz-copy-source': `/${bucket}/there` };
const document = (mark: string) => ({ status: 200, query: { [mark]: '' } });
const absent = (mark: string) => ({ status: 404, query: { [mark]: '' } });
const there = { status: 200, key: 'there' };

/** Makes a request for each operation. An operation without a row here fails below. */
const rows: Record<string, () => Row | Promise<Row>> = {
  ListBuckets: () => ({ status: 200, bucket: '' }),
  CreateBucket: () => ({ status: 200 }),
  HeadBucket: () => ({ status: 200 }),
  DeleteBucket: async () => ({ status: 204, bucket: await newBucket() }),
  ListObjects: () => ({ status: 200 }),
  ListObjectsV2: () => ({ status: 200, query: { 'list-type': '2' } }),
  ListObjectVersions: () => document('versions'),
  ListMultipartUploads: () => document('uploads'),
  DeleteObjects: () => ({ ...document('delete'), body: '<Delete><Object><Key>absent</Key></Object></Delete>' }),
  GetBucketAcl: () => document('acl'),
  PutBucketAcl: () => ({ status: 200, query: { acl: '', 'x-amz-acl': 'private' } }),
  GetBucketCors: () => absent('cors'),
  PutBucketCors: async () => ({
    ...document('cors'),
    bucket: await newBucket(),
    body: `<CORSConfiguration>${corsRule}</CORSConfiguration>`,
  }),
  DeleteBucketCors: () => ({ ...document('cors'), status: 204 }),
  GetBucketLocation: () => document('location'),
  GetBucketVersioning: () => document('versioning'),
  GetBucketLogging: () => document('logging'),
  GetBucketNotificationConfiguration: () => document('notification'),
  GetBucketAccelerateConfiguration: () => document('accelerate'),
  GetBucketRequestPayment: () => document('requestPayment'),
  GetBucketPolicy: () => absent('policy'),
  GetBucketLifecycleConfiguration: () => absent('lifecycle'),
  GetBucketTagging: () => absent('tagging'),
  GetBucketWebsite: () => absent('website'),
  GetBucketReplication: () => absent('replication'),
  GetBucketEncryption: () => absent('encryption'),
  GetObjectLockConfiguration: () => absent('object-lock'),
  GetBucketOwnershipControls: () => absent('ownershipControls'),
  GetPublicAccessBlock: () => absent('publicAccessBlock'),
  DeleteBucketPolicy: () => ({ status: 204, query: { policy: '' } }),
  DeleteBucketLifecycle: () => ({ status: 204, query: { lifecycle: '' } }),
  DeleteBucketTagging: () => ({ status: 204, query: { tagging: '' } }),
  DeleteBucketWebsite: () => ({ status: 204, query: { website: '' } }),
  DeleteBucketReplication: () => ({ status: 204, query: { replication: '' } }),
  DeleteBucketEncryption: () => ({ status: 204, query: { encryption: '' } }),
  DeleteBucketOwnershipControls: () => ({ status: 204, query: { ownershipControls: '' } }),
  DeletePublicAccessBlock: () => ({ status: 204, query: { publicAccessBlock: '' } }),
  GetObject: () => there,
  HeadObject: () => there,
  PutObject: () => ({ status: 200, key: 'put', body: 'hello' }),
  DeleteObject: () => ({ status: 204, key: 'absent' }),
  GetObjectAcl: () => ({ ...there, query: { acl: '' } }),
  PutObjectAcl: () => ({ ...there, query: { acl: '', 'x-amz-acl': 'private' } }),
  GetObjectAttributes: () => ({
    ...there,
    query: { attributes: '' },
    headers: { 'x-amz-object-attributes': 'ETag' },
  }),
  GetObjectTagging: () => ({ ...there, query: { tagging: '' } }),
  DeleteObjectTagging: () => ({ ...there, status: 204, query: { tagging: '' } }),
  CopyObject: () => ({ status: 200, key: 'copied', headers: copySource }),
  CreateMultipartUpload: () => ({ status: 200, key: 'begun', query: { uploads: '' } }),
  UploadPart: async () => {
    const { key, uploadId } = await newUpload(0);
    return { status: 200, key, query: { uploadId, partNumber: '1' }, body: 'part' };
  },
  UploadPartCopy: async () => {
    const { key, uploadId } = await newUpload(0);
    return { status: 200, key, query: { uploadId, partNumber: '1' }, headers: copySource };
  },
  ListParts: async () => {
    const { key, uploadId } = await newUpload(1);
    return { status: 200, key, query: { uploadId } };
  },
  CompleteMultipartUpload: async () => {
    const { key, uploadId } = await newUpload(1);
    return { status: 200, key, query: { uploadId }, body: parts };
  },
  AbortMultipartUpload: async () => {
    const { key, uploadId } = await newUpload(1);
    return { status: 204, key, query: { uploadId } };
  },
};

test('every operation of the store has a row, and every row an operation', () => {
  expect(Object.keys(rows).sort()).toEqual(allOperations.map(({ name }) => name).sort());
});

interface Signing {
  /** how many milliseconds the signature is older than now */
  age?: number;
  accessKeyId?: string;
  secretAccessKey?: string;
  region?: string;
}

function pathOf(row: Row): string {
  const name = row.bucket ?? bucket;
  return name === '' ? '/' : `/${name}${row.key === undefined ? '' : `/${row.key}`}`;
}

const queryOf = (row: Row) =>
  Object.entries(row.query ?? {})
    .map((pair) => pair.map(uriEncode).join('='))
    .join('&');

/** Sends a row's request to an address, with its own headers and body. */
function sendRow(method: string, row: Row, url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const body = row.body === undefined ? {} : { body: row.body };
  return send(method, url, { headers: { ...row.headers, ...headers }, ...body });
}

async function presign(method: string, row: Row, { age = 0, ...changed }: Signing = {}): Promise<string> {
  const signer = { ...keys, region, ...changed };
  const now = Date.now() - age;
  if (row.bucket !== '') {
    const { query, headers } = row;
    const more = { ...(query ? { query } : {}), ...(headers ? { headers } : {}) };
    const named = { bucket: row.bucket ?? bucket, key: row.key ?? '', expiresInSeconds: 60, now, ...more };
    return createPresigner({ ...signer, endpoint })({ method: method as 'GET', ...named });
  }
  const client = new S3Client({ endpoint, region: signer.region, credentials: signer, forcePathStyle: true });
  return getSignedUrl(client, new ListBucketsCommand({}), { expiresIn: 60, signingDate: new Date(now) });
}

const queried = async (method: string, row: Row, signing?: Signing, headers?: Record<string, string>) =>
  sendRow(method, row, await presign(method, row, signing), headers);

function signHeaders(method: string, row: Row, { age = 0, ...changed }: Signing = {}): Record<string, string> {
  const payloadHash = createHash('sha256')
    .update(row.body ?? '')
    .digest('hex');
  const { query = {}, headers = {} } = row;
  const request = { method, host, path: pathOf(row), query, headers, payloadHash, now: Date.now() - age };
  return createRequestSigner({ ...keys, region, ...changed })(request);
}

const plainUrl = (row: Row) => `${endpoint}${uriEncodePath(pathOf(row))}?${queryOf(row)}`;
const signed = (method: string, row: Row, signing?: Signing, more: Record<string, string> = {}) =>
  sendRow(method, row, plainUrl(row), { ...signHeaders(method, row, signing), ...more });
const spoil = (text: string) =>
  text.replace(/(Signature=)([0-9a-f])/, (_, name, digit) => name + (digit === '0' ? '1' : '0'));

function form(row: Row): Promise<Answer> {
  const fields = { key: 'form', acl: 'public-read', policy: 'e30=', 'x-amz-signature': '0'.repeat(64) };
  const lines = Object.entries(fields).map(
    ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const body = `${lines.join('')}--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nhello\r\n--x--\r\n`;
  return send('POST', plainUrl(row), { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body });
}

type Mode = [mode: string, status: number, code: string, send: (method: string, row: Row) => Promise<Answer>];
const v2 = { AWSAccessKeyId: keys.accessKeyId, Expires: '4000000000', Signature: 'frJIUN8DYpKDtOLCwo//yllqDzg=' };
const unknownKey = { accessKeyId: 'AKIAUNKNOWN' };
const modes: Mode[] = [
  ['unsigned', 403, 'AccessDenied', (method, row) => sendRow(method, row, plainUrl(row))],
  ['a form without a policy that holds', 403, 'AccessDenied', (_, row) => form(row)],
  [
    'Signature Version 2 in the query',
    400,
    'InvalidRequest',
    (method, row) => sendRow(method, row, `${plainUrl(row)}&${new URLSearchParams(v2)}`),
  ],
  [
    'Signature Version 2 in a header',
    400,
    'InvalidRequest',
    (method, row) =>
      sendRow(method, row, plainUrl(row), { authorization: `AWS ${keys.accessKeyId}:frJIUN8DYpKDtOLCwo=` }),
  ],
  [
    'a bad signature in the query',
    403,
    'SignatureDoesNotMatch',
    async (method, row) => sendRow(method, row, spoil(await presign(method, row))),
  ],
  [
    'a bad signature in a header',
    403,
    'SignatureDoesNotMatch',
    (method, row) => {
      const headers = signHeaders(method, row);
      return sendRow(method, row, plainUrl(row), { ...headers, authorization: spoil(headers.authorization ?? '') });
    },
  ],
  [
    'another secret in the query',
    403,
    'SignatureDoesNotMatch',
    (method, row) => queried(method, row, { secretAccessKey: 'other' }),
  ],
  [
    'another secret in a header',
    403,
    'SignatureDoesNotMatch',
    (method, row) => signed(method, row, { secretAccessKey: 'other' }),
  ],
  ['an expired address', 403, 'AccessDenied', (method, row) => queried(method, row, { age: 62_000 })],
  ['an address from the future', 403, 'AccessDenied', (method, row) => queried(method, row, { age: -960_000 })],
  ['an old header', 403, 'RequestTimeTooSkewed', (method, row) => signed(method, row, { age: 960_000 })],
  ['an unknown key in the query', 403, 'InvalidAccessKeyId', (method, row) => queried(method, row, unknownKey)],
  ['an unknown key in a header', 403, 'InvalidAccessKeyId', (method, row) => signed(method, row, unknownKey)],
  [
    'another region in the query',
    400,
    'AuthorizationQueryParametersError',
    (method, row) => queried(method, row, { region: 'eu-west-1' }),
  ],
  [
    'another region in a header',
    400,
    'AuthorizationHeaderMalformed',
    (method, row) => signed(method, row, { region: 'eu-west-1' }),
  ],
  [
    'header and query at once',
    400,
    'InvalidArgument',
    async (method, row) => sendRow(method, row, await presign(method, row), signHeaders(method, row)),
  ],
  [
    'an API key beside the address',
    400,
    'InvalidArgument',
    (method, row) => queried(method, row, {}, { authorization: 'Bearer cz_live_x' }),
  ],
  [
    'an unsigned x-amz header beside the address',
    403,
    'AccessDenied',
    (method, row) => queried(method, row, {}, { 'x-amz-acl': 'public-read' }),
  ],
  [
    'an unsigned x-amz header beside a signed one',
    403,
    'AccessDenied',
    (method, row) => signed(method, row, {}, { 'x-amz-grant-read': 'id="a"' }),
  ],
  [
    'signed chunks in place of what was signed',
    403,
    'SignatureDoesNotMatch',
    (method, row) => signed(method, row, {}, { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' }),
  ],
  [
    'unsigned chunks beside the address',
    403,
    'AccessDenied',
    (method, row) => queried(method, row, {}, { 'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' }),
  ],
  [
    'a parameter that was not signed',
    403,
    'SignatureDoesNotMatch',
    async (method, row) => sendRow(method, row, `${await presign(method, row)}&extra=x`),
  ],
  [
    'a sub-resource that it does not know',
    501,
    'NotImplemented',
    (method, row) => signed(method, { ...row, query: { ...row.query, torrent: '' } }),
  ],
  [
    'an address for another method',
    403,
    'SignatureDoesNotMatch',
    async (method, row) => sendRow(method === 'PUT' ? 'POST' : 'PUT', row, await presign(method, row)),
  ],
  [
    'an address for another bucket',
    403,
    'SignatureDoesNotMatch',
    async (method, row) => {
      const url = await presign(method, { ...row, bucket: 'another' });
      return sendRow(method, row, url.replace(/^(http:\/\/[^/]+)[^?]*/, `$1${uriEncodePath(pathOf(row))}`));
    },
  ],
];

test('a signature for another region is refused with the right one, which clients then sign for', async () => {
  for (const sendSigned of [signed, queried]) {
    const answer = await sendSigned('GET', there, { region: 'eu-west-1' });
    expect(answer.headers['x-amz-bucket-region']).toBe(region);
    expect(answer.text).toContain(`<Region>${region}</Region>`);
    const head = await sendSigned('HEAD', there, { region: 'eu-west-1' });
    expect(head.headers['x-amz-bucket-region']).toBe(region);
    const other = await sendSigned('GET', there, { secretAccessKey: 'other' });
    expect([other.headers['x-amz-bucket-region'], other.text.includes('<Region>')]).toEqual([undefined, false]);
  }
});

/** Everything that a request could have changed. */
async function stateOf(): Promise<string> {
  const buckets = await store.client.send(new ListBucketsCommand({}));
  const names = buckets.Buckets?.map(({ Name = '' }) => Name) ?? [];
  const asked: [string, string][] = names.flatMap((name) => [
    [name, 'versions'],
    [name, 'uploads'],
    [name, 'cors'],
  ]);
  const answers = await Promise.all(
    asked.map(async ([name, mark]) => {
      const { status, text } = await send('GET', store.presign('GET', '', { bucket: name, query: { [mark]: '' } }));
      return `${name} ${mark} ${status} ${text.replace(/<RequestId>.*?<\/RequestId>/, '')}`;
    }),
  );
  return [...answers, ...store.files().sort()].join('\n');
}

describe.each(allOperations)('$name', ({ name, method }) => {
  const makeRow = () => rows[name]?.() ?? Promise.reject(new Error(`${name} has no row.`));

  test('signed in a header, and in the query', async () => {
    for (const sendSigned of [signed, queried]) {
      const row = await makeRow();
      const answer = await sendSigned(method, row);
      expect([answer.status, answer.text.slice(0, answer.status === row.status ? 0 : undefined)]).toEqual([
        row.status,
        '',
      ]);
    }
  });

  test('any other way is refused, and changes nothing (checklist 44, T31)', async () => {
    const row = await makeRow();
    const before = await stateOf();
    const refusals: unknown[] = [];
    const expected: unknown[] = [];
    for (const [mode, status, code, sendMode] of modes) {
      const answer = await sendMode(method, row);
      const bare = answer.text === '' && Number(answer.headers['content-length']) > 0; // the answer to a HEAD
      refusals.push([mode, answer.status, answer.code, answer.headers['access-control-allow-origin']]);
      expected.push([mode, status, bare ? undefined : code, '*']);
      for (const exposed of ['ETag', 'Location', 'x-amz-checksum-sha256']) {
        expect(answer.headers['access-control-expose-headers']).toContain(exposed);
      }
      expect(answer.headers['x-amz-request-id']).toMatch(/^[0-9A-F]{16}$/);
      expect(answer.headers['content-type']).toBe('application/xml');
      if (!bare)
        expect(answer.text).toMatch(/<Error><Code>\w+<\/Code><Message>[^<]+<\/Message><Resource>.*<RequestId>/);
      expect(answer.text).not.toMatch(/[0-9a-f]{64}|Signature=/);
    }
    expect(refusals).toEqual(expected);
    expect(await stateOf()).toBe(before);
  });
});
