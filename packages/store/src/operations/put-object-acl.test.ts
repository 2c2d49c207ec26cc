import {
  type BucketCannedACL,
  CreateBucketCommand,
  GetBucketAclCommand,
  GetObjectAclCommand,
  type ObjectCannedACL,
  PutBucketAclCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, newDefaultClient, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
let client: S3Client;
beforeAll(async () => {
  store = await startStore();
  client = newDefaultClient(store.endpoint);
  await send('PUT', store.presign('PUT', 'there'), { body: 'hello' });
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

const object = { Bucket: bucket, Key: 'there' };
const putObject = (ACL: ObjectCannedACL, Key = 'acl') =>
  store.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x', ACL }));

test('the owner has full control, and nobody else has any rights', async () => {
  for (const acl of [
    await client.send(new GetObjectAclCommand(object)),
    await client.send(new GetBucketAclCommand({ Bucket: bucket })),
  ]) {
    expect(acl.Grants).toEqual([
      {
        Grantee: { ID: acl.Owner?.ID, DisplayName: 'owner', Type: 'CanonicalUser' },
        Permission: 'FULL_CONTROL',
      },
    ]);
  }
});

test('an ACL that changes nothing is accepted', async () => {
  await putObject('private');
  await putObject('bucket-owner-full-control');
  await client.send(new PutObjectAclCommand({ ...object, ACL: 'private' }));
  await client.send(new PutBucketAclCommand({ Bucket: bucket, ACL: 'private' }));
  await client.send(new CreateBucketCommand({ Bucket: 'private', ACL: 'private' }));
  const { Grants, Owner } = await client.send(new GetObjectAclCommand(object));
  if (!Grants || !Owner) throw new Error('no ACL');
  await client.send(new PutObjectAclCommand({ ...object, AccessControlPolicy: { Grants, Owner } }));
  const url = store.presign('PUT', 'there', { query: { 'x-amz-acl': 'private' } });
  expect((await send('PUT', url, { body: 'hello' })).status).toBe(200);
});

test.each(['public-read', 'public-read-write', 'authenticated-read'] as const)(
  '%s is refused everywhere',
  async (acl) => {
    const refused = { name: 'AccessControlListNotSupported', $metadata: { httpStatusCode: 400 } };
    await expect(putObject(acl as ObjectCannedACL, 'public')).rejects.toMatchObject(refused);
    await expect(client.send(new PutObjectAclCommand({ ...object, ACL: acl }))).rejects.toMatchObject(refused);
    const named = { Bucket: 'public', ACL: acl as BucketCannedACL };
    await expect(client.send(new CreateBucketCommand(named))).rejects.toMatchObject(refused);
    await expect(client.send(new PutBucketAclCommand({ ...named, Bucket: bucket }))).rejects.toMatchObject(refused);
    expect((await send('HEAD', store.presign('HEAD', 'public'))).status).toBe(404);
    expect((await send('HEAD', store.presign('HEAD', '', { bucket: 'public' }))).status).toBe(404);
  },
);

test('grants are refused, in headers and in documents', async () => {
  const refused = { name: 'AccessControlListNotSupported' };
  const everyone = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"';
  await expect(client.send(new PutObjectAclCommand({ ...object, GrantRead: everyone }))).rejects.toMatchObject(refused);
  const { Owner } = await client.send(new GetObjectAclCommand(object));
  for (const Grantee of [
    { Type: 'Group' as const, URI: 'http://acs.amazonaws.com/groups/global/AllUsers' },
    { Type: 'CanonicalUser' as const, ID: '0'.repeat(64) },
    { Type: 'CanonicalUser' as const, ID: Owner?.ID, URI: 'http://acs.amazonaws.com/groups/global/AllUsers' },
  ]) {
    const AccessControlPolicy = { Owner, Grants: [{ Grantee, Permission: 'READ' as const }] };
    await expect(client.send(new PutObjectAclCommand({ ...object, AccessControlPolicy }))).rejects.toMatchObject(
      refused,
    );
  }
});

test('the caller’s mistakes', async () => {
  const url = (key: string, query = {}) => store.presign('PUT', key, { query: { acl: '', ...query } });
  expect((await send('PUT', url('there'), { headers: { 'x-amz-acl': 'private' } })).code).toBe('AccessDenied');
  expect((await send('PUT', url('there', { 'x-amz-acl': 'mine' }))).code).toBe('InvalidArgument');
  expect((await send('PUT', url('there'))).code).toBe('InvalidRequest');
  expect((await send('PUT', url('there'), { body: '<Acl/>' })).code).toBe('MalformedXML');
  expect((await send('PUT', url('absent', { 'x-amz-acl': 'private' }))).code).toBe('NoSuchKey');
  const header = await send('PUT', store.presign('PUT', 'header'), { headers: { acl: '1' }, body: 'x' });
  expect(header.status).toBe(200);
  expect((await send('GET', store.presign('GET', 'header'))).text).toBe('x');
});
