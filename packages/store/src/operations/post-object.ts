import type { IncomingMessage, ServerResponse } from 'node:http';
import { uriEncodePath, type VerifyOptions, verifyPolicy, version2Advice } from '@cadiz/sigv4';
import type { Checksum } from '../disk/checksum.ts';
import type { ObjectRecord } from '../disk/index-record.ts';
import type { Store } from '../disk/store.ts';
import { takeIn } from '../disk/take-in.ts';
import { isHarmlessAcl } from '../protocol/acl.ts';
import type { Address } from '../protocol/address.ts';
import { openByteReader } from '../protocol/byte-reader.ts';
import { requireBucketName, requireKey } from '../protocol/call.ts';
import { checksumHeaders, readGiven, requireSame, toChecksumHeaders } from '../protocol/checksum-header.ts';
import { type Form, readBoundary, readForm } from '../protocol/form-data.ts';
import { isHeader } from '../protocol/parameters.ts';
import { type PostPolicy, readPolicy, requireAllowed } from '../protocol/post-policy.ts';
import { noSuchBucket, notImplemented, refused, S3Error } from '../protocol/s3-error.ts';
import { document, textElement } from '../protocol/xml.ts';
import { wholeSeconds } from './multipart-upload.ts';
import { contentHeaders, indexObject, type ReceivedBody, readMetadata } from './put-object.ts';

/** A form being received. Its signature is inside it, so nothing about it is trusted yet. */
export interface FormCall {
  store: Store;
  request: IncomingMessage;
  response: ServerResponse;
  bucket: string;
  findSecretAccessKey: VerifyOptions['findSecretAccessKey'];
  /** see Call */
  awaitBody(): void;
}

const signatureFields = ['x-amz-algorithm', 'x-amz-credential', 'x-amz-date', 'x-amz-signature', 'policy'];
const understood = new Set([...signatureFields, ...checksumHeaders, 'x-amz-storage-class']);

/** Whether a request is a form for a bucket: its signature, if any, is in its fields. */
export function isForm({ method, url = '', headers }: IncomingMessage, { bucket, key }: Address): boolean {
  const isMultipart = /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
  const isForBucket = bucket !== '' && key === '' && !url.includes('?');
  return method === 'POST' && isMultipart && headers.authorization === undefined && isForBucket;
}

/**
 * POST /bucket with a form ("POST Object" and "Browser-Based Uploads Using POST"): its `file` becomes an object if the
 * signed policy in the form allows every field. No byte of the file is read before that.
 *
 * @throws S3Error
 */
export async function postObject(call: FormCall): Promise<void> {
  const { store, request, bucket } = call;
  requireBucketName(bucket);
  const contentLength = requireLength(request);
  const boundary = readBoundary(request.headers['content-type'] ?? '');
  call.awaitBody();
  const reader = openByteReader(request.iterator({ destroyOnReturn: false }));
  try {
    const form = await readForm(reader, boundary);
    const { key, policy } = believe(call, form);
    if (!store.index.findBucket(bucket)) throw noSuchBucket(bucket);
    if (key === '') throw new S3Error('InvalidArgument', 'The key of the form is empty.');
    requireKey(key);
    const description = describe(form.fields);
    const answer = readAnswer(form.fields);
    // A form can be kept and sent again just like a presigned URL.
    const condition = store.presignedOverwrite === 'deny' ? { once: true } : {};
    if (policy.minBytes > contentLength) throw tooSmall(policy.minBytes);
    const { stored, size, etag, checksum: received } = await receiveFile(call, form, policy, contentLength);
    const checksum = received && { ...received, type: 'FULL_OBJECT' as const };
    const lastModified = wholeSeconds(store.now());
    const record = {
      size,
      etag,
      lastModified,
      ...description,
      ...(checksum && { checksum }),
    };
    const indexed = await indexObject({ store, bucket, key }, record, stored, condition);
    send(call, answer, { key, record: { ...record, etag: indexed.etag } });
  } finally {
    await reader.close();
  }
}

function requireLength({ headers }: IncomingMessage): number {
  const length = headers['content-length'];
  if (length !== undefined && headers['transfer-encoding'] === undefined) return Number(length);
  throw new S3Error('MissingContentLength', 'Send Content-Length: forms of unknown length are not accepted.');
}

/** The key and the policy of a form with a valid signature and a policy that allows it. */
function believe({ store, bucket, findSecretAccessKey }: FormCall, { fields, fileName }: Form) {
  const now = store.now();
  if (!fields.has('policy')) {
    const version2 = fields.has('awsaccesskeyid') || fields.has('signature');
    if (version2) throw new S3Error('InvalidRequest', version2Advice);
    throw new S3Error('AccessDenied', 'The form is unsigned: it has no policy.');
  }
  const field = (name: string) => {
    const value = fields.get(name);
    if (value !== undefined) return value;
    throw new S3Error('InvalidArgument', `The form must have a field named ${name}, before its file.`);
  };
  const signed = {
    policy: field('policy'),
    algorithm: field('x-amz-algorithm'),
    credential: field('x-amz-credential'),
    amzDate: field('x-amz-date'),
    signature: field('x-amz-signature'),
    now,
  };
  const verdict = verifyPolicy(signed, { region: store.region, findSecretAccessKey });
  if (!verdict.ok) throw refused(verdict);
  const policy = readPolicy(signed.policy);
  const key = toText(field('key').replace(/\$\{filename\}/g, () => fileName));
  const texts = new Map([...fields].map(([name, value]) => [toText(name), toText(value)]));
  if ((texts.get('bucket') ?? bucket) !== bucket) throw new S3Error('AccessDenied', 'The form is for another bucket.');
  requireAllowed(policy, texts.set('bucket', bucket).set('key', key), now);
  return { key, policy };
}

/** The bytes of a field, decoded as UTF-8. */
function toText(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new S3Error('InvalidArgument', 'The fields of a form must be UTF-8.');
  }
}

/** Content headers and metadata; refuses fields that are not understood. */
function describe(fields: ReadonlyMap<string, string>): Pick<ObjectRecord, 'headers' | 'metadata'> {
  for (const [name, value] of fields) {
    const kept = name.startsWith('x-amz-meta-') || name === 'content-type' || contentHeaders.includes(name);
    // These become headers of answers: a line break would start another header.
    if (kept && !isHeader(name, value)) {
      throw new S3Error(
        'InvalidArgument',
        `The field ${name} cannot be a header: it has characters that are not allowed.`,
      );
    }
    if (name === 'acl') isHarmlessAcl('x-amz-acl', value);
    else if (name === 'tagging' || (name.startsWith('x-amz-') && !kept && !understood.has(name))) {
      throw notImplemented(`A form with the field ${name}`);
    }
  }
  const headers: Record<string, string> = { 'content-type': fields.get('content-type') || 'binary/octet-stream' };
  for (const name of contentHeaders) {
    const value = fields.get(name);
    if (value) headers[name] = value;
  }
  return { headers, metadata: readMetadata(Object.fromEntries(fields)) };
}

/** Receives the file, and checks it against the policy and against the form's checksum, if it has one. */
async function receiveFile(
  { store, request }: FormCall,
  { fields, file }: Form,
  { minBytes, maxBytes }: PostPolicy,
  contentLength: number,
): Promise<ReceivedBody & { size: number }> {
  const promised = readFormChecksum(fields);
  const most = Math.min(maxBytes, store.maxObjectBytes);
  const { stored, checked } = await takeIn(
    store,
    {
      read: file,
      mostBytes: Math.min(most, contentLength),
      digests: ['MD5', ...(promised ? [promised.algorithm] : [])],
      mayBePacked: true,
    },
    ({ size, digest }) => {
      if (size > most) throw new S3Error('EntityTooLarge', `The file must have at most ${most} bytes.`);
      // A long sync after the last byte does not mean that the client is idle.
      request.socket.setTimeout(0);
      if (size < minBytes) throw tooSmall(minBytes);
      if (promised) requireSame(promised, digest(promised.algorithm).toString('base64'));
      return { size, etag: digest('MD5').toString('hex') };
    },
  );
  return { stored, ...checked, ...(promised && { checksum: promised }) };
}

function readFormChecksum(fields: ReadonlyMap<string, string>): Checksum | undefined {
  const [given, another] = readGiven(fields);
  if (another) throw new S3Error('InvalidRequest', 'More than one checksum was sent: send one x-amz-checksum-….');
  return given;
}

function tooSmall(minBytes: number): S3Error {
  return new S3Error('EntityTooSmall', `The file must have at least ${minBytes} bytes.`);
}

interface FormAnswer {
  status: 200 | 201 | 204;
  redirect?: URL;
}

/** The answer that the form asks for. A status other than the three allowed means 204, as on S3. */
function readAnswer(fields: ReadonlyMap<string, string>): FormAnswer {
  const redirect = fields.get('success_action_redirect') ?? fields.get('redirect');
  const wanted = fields.get('success_action_status');
  const status = wanted === '200' || wanted === '201' ? (Number(wanted) as 200 | 201) : 204;
  if (!redirect) return { status };
  const url = URL.canParse(redirect) ? new URL(redirect) : undefined;
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return { status, redirect: url };
  throw new S3Error('InvalidArgument', 'success_action_redirect must be an http or https URL.');
}

function send(
  { request, response, bucket }: FormCall,
  { status, redirect }: FormAnswer,
  { key, record }: { key: string; record: Pick<ObjectRecord, 'etag' | 'checksum'> },
): void {
  const etag = `"${record.etag}"`;
  const location = `http://${request.headers.host}${uriEncodePath(`/${bucket}/${key}`)}`;
  const headers = { etag, location, ...toChecksumHeaders(record.checksum) };
  if (redirect) {
    for (const [name, value] of Object.entries({ bucket, key, etag })) redirect.searchParams.append(name, value);
    response.writeHead(303, { ...headers, location: redirect.href, 'content-length': '0' }).end();
  } else if (status === 201) {
    const children = Object.entries({ Location: location, Bucket: bucket, Key: key, ETag: etag });
    const body = Buffer.from(
      document(
        'PostResponse',
        children.map(([name, text]) => textElement(name, text)),
      ),
    );
    response.writeHead(201, { ...headers, 'content-type': 'application/xml', 'content-length': body.length }).end(body);
  } else {
    response.writeHead(status, { ...headers, ...(status === 200 && { 'content-length': '0' }) }).end();
  }
}
