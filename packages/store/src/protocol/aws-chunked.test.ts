import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chunkedHead, frame } from '../../test/chunked.ts';
import { partBytes, partOf } from '../../test/multipart.ts';
import { bucket, keys, region, send, startStore, type TestStore, until } from '../../test/running-store.ts';
import { checksumOf } from '../disk/checksum.ts';
import { type ChunkedBody, decodeChunks, readChunkedBody } from './aws-chunked.ts';
import type { Call } from './call.ts';
import { S3Error } from './s3-error.ts';

const signedKind = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
const signedTrailer = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER';
const unsignedTrailer = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const crc32 = (text: string | Buffer) => checksumOf('CRC32', Buffer.from(text));

let store: TestStore;
let sdk: S3Client;
beforeAll(async () => {
  store = await startStore({ maxObjectBytes: 20_000_000 });
  sdk = new S3Client({ endpoint: store.endpoint, region, credentials: keys, forcePathStyle: true, maxAttempts: 1 });
});
afterAll(async () => {
  sdk.destroy();
  await store.close();
});

const read = async (key: string) => {
  const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: key, ChecksumMode: 'ENABLED' }));
  return { ...got, bytes: Buffer.from((await got.Body?.transformToByteArray()) ?? []) };
};

describe('an AWS SDK with its default settings', () => {
  const body = partOf(300_000, 1);

  test('puts a buffer', async () => {
    const put = await sdk.send(new PutObjectCommand({ Bucket: bucket, Key: 'buffer', Body: body }));
    expect(put.ChecksumCRC32).toBe(crc32(body));
    expect((await read('buffer')).bytes.equals(body)).toBe(true);
  });

  test('puts a file as a stream, and a stream of known length', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cadiz-chunked-'));
    writeFileSync(join(folder, 'file'), body);
    const streams = [
      createReadStream(join(folder, 'file')),
      Readable.from([body.subarray(0, 9000), body.subarray(9000)]),
    ];
    for (const [at, stream] of streams.entries()) {
      const sent = { Bucket: bucket, Key: `stream-${at}`, Body: stream, ContentLength: body.length };
      expect((await sdk.send(new PutObjectCommand(sent))).ChecksumCRC32).toBe(crc32(body));
      const got = await read(`stream-${at}`);
      expect([got.bytes.equals(body), got.ContentEncoding]).toEqual([true, undefined]);
    }
    rmSync(folder, { recursive: true });
  });

  test.each(['CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const)(
    'puts a stream with a trailing %s',
    async (algorithm) => {
      const sent = { Bucket: bucket, Key: algorithm, ChecksumAlgorithm: algorithm, ContentEncoding: 'gzip' };
      await sdk.send(new PutObjectCommand({ ...sent, Body: Readable.from([body]), ContentLength: body.length }));
      const got = await read(algorithm);
      expect([got.bytes.equals(body), got.ContentEncoding]).toEqual([true, 'gzip']);
      expect(got[`Checksum${algorithm}`]).toBe(checksumOf(algorithm, body));
    },
  );

  test('uploads parts from buffers and from streams', async () => {
    const bodies = [partOf(partBytes, 1), partOf(partBytes, 2), Buffer.from('the end')];
    const Key = 'parts';
    const { UploadId } = await sdk.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    const parts = await Promise.all(
      bodies.map(async (bytes, at) => {
        const Body = at === 1 ? Readable.from([bytes]) : bytes;
        const more = { PartNumber: at + 1, Body, ContentLength: bytes.length };
        const { ETag, ChecksumCRC32 } = await sdk.send(
          new UploadPartCommand({ Bucket: bucket, Key, UploadId, ...more }),
        );
        return { PartNumber: at + 1, ETag, ChecksumCRC32 };
      }),
    );
    await sdk.send(
      new CompleteMultipartUploadCommand({ Bucket: bucket, Key, UploadId, MultipartUpload: { Parts: parts } }),
    );
    expect((await read(Key)).bytes.equals(Buffer.concat(bodies))).toBe(true);
    const got = await sdk.send(new GetObjectCommand({ Bucket: bucket, Key }));
    expect(await got.Body?.transformToByteArray()).toHaveLength(2 * partBytes + 7);
  });
});

/** Sends an aws-chunked PUT of these chunks, with its body changed by `alter` after it was signed. */
async function put(
  key: string,
  kind: string,
  chunks: string[],
  more: {
    headers?: Record<string, string | undefined>;
    trailers?: Record<string, string>;
    alter?: (body: string) => string;
  } = {},
) {
  const length = chunks.join('').length;
  const declared = Object.keys(more.trailers ?? {}).join(',');
  const all: Record<string, string | undefined> = {
    'content-encoding': 'aws-chunked',
    'x-amz-decoded-content-length': String(length),
    ...(declared === '' ? {} : { 'x-amz-trailer': declared }),
    ...more.headers,
  };
  const headers = Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const { path, headers: signed, chunkSigner } = chunkedHead(store, key, kind, headers);
  const framed = frame(chunks, more.trailers ?? {}, chunkSigner).toString('latin1');
  return send('PUT', `${store.endpoint}${path}`, {
    headers: signed,
    body: Buffer.from((more.alter ?? String)(framed), 'latin1'),
  });
}

const large = 'a'.repeat(65_536);
const chunks = [large, large, 'the end'];
const trailers = { 'x-amz-checksum-crc32': crc32(chunks.join('')) };

describe('takes', () => {
  test.each([
    ['signed chunks', signedKind, chunks, {}],
    ['signed chunks and a trailer', signedTrailer, chunks, { trailers }],
    ['signed chunks and no trailer', signedTrailer, chunks, {}],
    ['unsigned chunks and a trailer', unsignedTrailer, chunks, { trailers }],
    ['no bytes, signed', signedKind, [], {}],
    ['no bytes and a trailer', unsignedTrailer, [], { trailers: { 'x-amz-checksum-crc32': 'AAAAAA==' } }],
    ['one last chunk that is small', signedKind, ['x'], {}],
    [
      'a checksum in the header',
      signedKind,
      ['hello'],
      { headers: { 'x-amz-checksum-sha256': checksumOf('SHA256', Buffer.from('hello')) } },
    ],
    [
      'an MD5 in the trailer',
      unsignedTrailer,
      ['hello'],
      { trailers: { 'x-amz-checksum-md5': checksumOf('MD5', Buffer.from('hello')) } },
    ],
    [
      'a trailer that ends with LF CRLF',
      signedTrailer,
      chunks,
      { trailers, alter: (text: string) => text.replace('==\r\nx-amz-trailer', '==\n\r\nx-amz-trailer') },
    ],
  ] as [string, string, string[], object][])('%s', async (_name, kind, sent, more) => {
    const answer = await put('taken', kind, sent, more);
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect((await read('taken')).bytes.toString()).toBe(sent.join(''));
  });

  test('aws-chunked,gzip is stored as gzip', async () => {
    await put('zipped', signedKind, ['x'], { headers: { 'content-encoding': 'aws-chunked,gzip' } });
    const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'zipped' }));
    expect(head.ContentEncoding).toBe('gzip');
  });
});

describe('refuses, and stores nothing (checklist 44, T31)', () => {
  const flip = (text: string) => text.replace('aaaa', 'aaba');
  const cases: [name: string, status: number, code: string, kind: string, chunks: string[], more: object][] = [
    ['an altered chunk', 403, 'SignatureDoesNotMatch', signedKind, chunks, { alter: flip }],
    [
      'chunks in another order',
      403,
      'SignatureDoesNotMatch',
      signedKind,
      [large, 'b'.repeat(65_536)],
      {
        alter: (text: string) => {
          const [, one = '', two = '', rest = ''] =
            /^(10000;.*?\r\na+\r\n)(10000;.*?\r\nb+\r\n)(.*)$/s.exec(text) ?? [];
          return two + one + rest;
        },
      },
    ],
    [
      'a chunk without its signature',
      400,
      'InvalidRequest',
      signedKind,
      chunks,
      { alter: (text: string) => text.replace(/;chunk-signature=\w+/, '') },
    ],
    [
      'a last chunk with another signature',
      403,
      'SignatureDoesNotMatch',
      signedKind,
      chunks,
      { alter: (text: string) => text.replace(/(\r\n0;chunk-signature=)\w{4}/, '$1beef') },
    ],
    [
      'an altered trailer',
      403,
      'SignatureDoesNotMatch',
      signedTrailer,
      chunks,
      { trailers, alter: (text: string) => text.replace(/(crc32:)./, '$1_') },
    ],
    [
      'a trailer without its signature',
      403,
      'SignatureDoesNotMatch',
      signedTrailer,
      chunks,
      { trailers, alter: (text: string) => text.replace(/x-amz-trailer-signature:.*\r\n/, '') },
    ],
    [
      'a wrong trailing checksum',
      400,
      'BadDigest',
      unsignedTrailer,
      chunks,
      { trailers: { 'x-amz-checksum-crc32': 'AAAAAA==' } },
    ],
    [
      'a malformed trailing checksum',
      400,
      'InvalidRequest',
      unsignedTrailer,
      chunks,
      { trailers: { 'x-amz-checksum-crc32': 'AAAA' } },
    ],
    ['altered bytes with a trailing checksum', 400, 'BadDigest', unsignedTrailer, chunks, { trailers, alter: flip }],
    [
      'a trailer that is not there',
      400,
      'MalformedTrailerError',
      unsignedTrailer,
      chunks,
      { headers: { 'x-amz-trailer': 'x-amz-checksum-crc32' } },
    ],
    [
      'a trailer that was not declared',
      400,
      'MalformedTrailerError',
      unsignedTrailer,
      chunks,
      { alter: (text: string) => text.replace(/\r\n$/, 'x-amz-checksum-crc32:AAAAAA==\r\n\r\n') },
    ],
    [
      'a trailer twice',
      400,
      'MalformedTrailerError',
      unsignedTrailer,
      chunks,
      { trailers, alter: (text: string) => text.replace(/(x-amz-checksum.*\r\n)/, '$1$1') },
    ],
    [
      'a trailer that is no checksum',
      400,
      'InvalidRequest',
      unsignedTrailer,
      chunks,
      { trailers: { 'x-amz-meta-a': 'b' } },
    ],
    ['a trailer where there is none', 400, 'InvalidRequest', signedKind, chunks, { trailers }],
    [
      'a checksum in header and trailer',
      400,
      'InvalidRequest',
      unsignedTrailer,
      chunks,
      { trailers, headers: { 'x-amz-checksum-crc32c': 'AAAAAA==' } },
    ],
    [
      'less than was promised',
      400,
      'IncompleteBody',
      signedKind,
      chunks,
      { headers: { 'x-amz-decoded-content-length': '200000' } },
    ],
    [
      'more than was promised',
      400,
      'IncompleteBody',
      signedKind,
      chunks,
      { headers: { 'x-amz-decoded-content-length': '131072' } },
    ],
    [
      'a body that stops in a chunk',
      400,
      'IncompleteBody',
      signedKind,
      chunks,
      { alter: (text: string) => text.slice(0, 70_000) },
    ],
    [
      'a body without its last chunk',
      400,
      'IncompleteBody',
      signedKind,
      chunks,
      { alter: (text: string) => text.slice(0, text.lastIndexOf('0;')) },
    ],
    [
      'a body without its last line',
      400,
      'IncompleteBody',
      signedKind,
      chunks,
      { alter: (text: string) => text.slice(0, -2) },
    ],
    ['bytes after the end', 400, 'InvalidRequest', signedKind, chunks, { alter: (text: string) => `${text}x` }],
    ['a small chunk before the last', 400, 'InvalidChunkSizeError', signedKind, ['small', large], {}],
    [
      'a chunk with no size',
      400,
      'InvalidRequest',
      unsignedTrailer,
      chunks,
      { alter: (text: string) => text.slice(5) },
    ],
    [
      'a chunk that goes on',
      400,
      'InvalidRequest',
      unsignedTrailer,
      chunks,
      { alter: (text: string) => text.replace('a\r\n10000', 'ab\r\n10000') },
    ],
    [
      'no decoded length',
      411,
      'MissingContentLength',
      signedKind,
      ['x'],
      { headers: { 'x-amz-decoded-content-length': undefined } },
    ],
    [
      'a decoded length that is none',
      400,
      'InvalidArgument',
      signedKind,
      ['x'],
      { headers: { 'x-amz-decoded-content-length': '1.5' } },
    ],
    [
      'more than the largest object',
      400,
      'EntityTooLarge',
      signedKind,
      ['x'],
      { headers: { 'x-amz-decoded-content-length': '20000001' } },
    ],
    [
      'a wrong Content-MD5',
      400,
      'BadDigest',
      signedKind,
      chunks,
      { headers: { 'content-md5': 'XrY7u+Ae7tCTyyK7j1rNww==' } },
    ],
    ['ECDSA', 501, 'NotImplemented', 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD', ['x'], {}],
    ['an unknown kind', 400, 'InvalidArgument', 'STREAMING-SOMETHING', ['x'], {}],
    ['aws-chunked with UNSIGNED-PAYLOAD', 400, 'InvalidRequest', 'UNSIGNED-PAYLOAD', ['x'], {}],
  ];

  test.each(cases)('%s: %i %s', async (_name, status, code, kind, sent, more) => {
    const files = store.files().length;
    const answer = await put('refused', kind, sent, more);
    expect([answer.status, answer.code]).toEqual([status, code]);
    await until(() => store.files().length === files);
    expect((await send('HEAD', store.presign('HEAD', 'refused'))).status).toBe(404);
  });

  test('a presigned URL', async () => {
    const verified = { mode: 'query', payloadHash: unsignedTrailer };
    const call = { headers: { 'x-amz-decoded-content-length': '5' }, verified } as unknown as Call;
    expect(() => readChunkedBody(call)).toThrow(expect.objectContaining({ code: 'InvalidRequest' }));
    const headers = { 'x-amz-content-sha256': unsignedTrailer };
    const url = store.presign('PUT', 'refused', { headers });
    expect((await send('PUT', url, { headers, body: frame(['hello'], {}) })).status).toBe(403);
  });

  test('an operation without object bytes', async () => {
    const headers = { 'x-amz-decoded-content-length': '5' };
    const { headers: signed, path } = chunkedHead(store, 'refused', signedKind, headers, { acl: '' });
    const answer = await send('PUT', `${store.endpoint}${path}`, { headers: signed, body: 'hello' });
    expect([answer.status, answer.code]).toEqual([400, 'InvalidRequest']);
  });
});

test('a body that arrives byte by byte', async () => {
  const headers = { 'x-amz-decoded-content-length': '5', 'x-amz-trailer': 'x-amz-checksum-crc32' };
  const { path, headers: signed, chunkSigner } = chunkedHead(store, 'slowly', signedTrailer, headers);
  const body = frame(['hello'], { 'x-amz-checksum-crc32': crc32('hello') }, chunkSigner);
  const lines = Object.entries({ ...signed, 'content-length': body.length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const socket = connect(store.port, '127.0.0.1');
  socket.setNoDelay(true);
  socket.write(`PUT ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  for (const byte of body) {
    socket.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  expect((await read('slowly')).bytes.toString()).toBe('hello');
});

describe('the decoder', () => {
  async function decode(encoded: Buffer, cuts: number[], body: ChunkedBody): Promise<Buffer> {
    const places = [...new Set(cuts.map((cut) => cut % (encoded.length + 1)))].sort((a, b) => a - b);
    async function* pieces() {
      let from = 0;
      for (const to of [...places, encoded.length]) {
        yield encoded.subarray(from, to);
        from = to;
      }
    }
    const decoded: Buffer[] = [];
    for await (const piece of decodeChunks(pieces(), body)) decoded.push(piece);
    return Buffer.concat(decoded);
  }

  const cuts = fc.array(fc.nat(), { maxLength: 30 });
  const open = (size: number): ChunkedBody => ({ size, trailerNames: ['x-amz-checksum-crc32'], trailers: new Map() });
  const tail = { 'x-amz-checksum-crc32': 'AAAAAA==' };

  test('finds the same bytes however they are split', async () => {
    const sizes = fc.array(fc.integer({ min: 8192, max: 9000 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat({ max: 100 }), cuts, async (many, last, at) => {
        const sent = [...many, last].map((size, seed) => partOf(size, seed)).filter(({ length }) => length > 0);
        const whole = Buffer.concat(sent);
        const body = open(whole.length);
        expect((await decode(frame(sent, tail), at, body)).equals(whole)).toBe(true);
        expect([...body.trailers]).toEqual(Object.entries(tail));
      }),
    );
  });

  const framing = fc.constantFrom(
    '0\r\n',
    '5\r\n',
    '\r\n',
    'hello',
    'x-amz-checksum-crc32:AAAAAA==\r\n',
    ';chunk-signature=',
    'fffffffff\r\n',
    '\n',
  );
  const noise = fc.oneof(framing, fc.string({ unit: 'binary-ascii', maxLength: 20 }));

  test('throws nothing but refusals, and never yields more than was promised', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(noise, { maxLength: 12 }), cuts, fc.nat({ max: 20 }), async (pieces, at, size) => {
        const decoded = await decode(Buffer.from(pieces.join(''), 'latin1'), at, open(size)).catch(
          (error: unknown) => error,
        );
        if (decoded instanceof Buffer) expect(decoded).toHaveLength(size);
        else expect(decoded).toBeInstanceOf(S3Error);
      }),
      { numRuns: 1000 },
    );
  });

  test('a signed body with any one byte changed, removed or added is refused', async () => {
    const sent = ['a'.repeat(8192), 'the end'];
    const head = () => chunkedHead({ port: 1 }, 'k', signedTrailer, { 'x-amz-decoded-content-length': '8199' });
    const edit = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom('replace', 'remove', 'insert'),
      byte: fc.nat({ max: 255 }),
    });
    await fc.assert(
      fc.asyncProperty(edit, cuts, fc.boolean(), async ({ at, kind, byte }, places, nearTheEnd) => {
        const encoded = frame(sent, tail, head().chunkSigner);
        const index = nearTheEnd ? encoded.length - 1 - (at % 400) : at % encoded.length;
        const put = kind === 'remove' ? [] : [byte];
        const altered = Buffer.concat([
          encoded.subarray(0, index),
          Buffer.from(put),
          encoded.subarray(kind === 'insert' ? index : index + 1),
        ]);
        fc.pre(!isSame(altered, encoded));
        const { chunkSigner: signer } = head();
        if (!signer) throw new Error('no signer');
        const outcome = await decode(altered, places, { ...open(8199), signer }).catch((error: unknown) => error);
        expect(outcome).toBeInstanceOf(S3Error);
      }),
      { numRuns: 500 },
    );
  });

  /**
   * Upper or lower case in hexadecimal sizes and names, spaces after a name, and an LF before CRLF make no
   * difference.
   */
  function isSame(altered: Buffer, encoded: Buffer): boolean {
    const plain = (body: Buffer) => {
      const text = body
        .toString('latin1')
        .replace(/[ \t]*(?=\r\n|\n\r\n)/g, '')
        .replaceAll('\n\r\n', '\r\n');
      return text
        .replace(/:[ \t]*/g, ':')
        .toLowerCase()
        .replace(/(^|\r\n)0+(?=[1-9a-f])/g, '$1');
    };
    return plain(altered) === plain(encoded);
  }
});
