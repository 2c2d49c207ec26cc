import { createHash, randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { checksumOf } from './checksum.ts';
import { openDigestThreads } from './digest-threads.ts';

const threads = openDigestThreads();
afterAll(() => threads.close());

const names = ['MD5', 'SHA256', 'CRC32', 'CRC64NVME'] as const;

async function digestOf(body: Buffer, chunkBytes: number): Promise<Record<string, string | undefined>> {
  const running = threads.open([...names, 'MD5']);
  for (let at = 0; at < body.length; at += chunkBytes) await running.update(body.subarray(at, at + chunkBytes));
  const digests = await running.finish();
  running.discard();
  return Object.fromEntries(names.map((name) => [name, digests.get(name)?.toString('base64')]));
}

test('many bodies at once, in chunks of any size, have the right digests', async () => {
  const shapes = [0, 1, 1000, 524_288, 524_289, 3_000_001].flatMap((bytes) =>
    [977, 65_536, 700_000, 2_000_000].map((chunkBytes) => ({ body: randomBytes(bytes), chunkBytes })),
  );
  const found = await Promise.all(shapes.map(({ body, chunkBytes }) => digestOf(body, chunkBytes)));
  const expected = shapes.map(({ body }) => ({
    MD5: createHash('md5').update(body).digest('base64'),
    SHA256: checksumOf('SHA256', body),
    CRC32: checksumOf('CRC32', body),
    CRC64NVME: checksumOf('CRC64NVME', body),
  }));
  expect(found).toEqual(expected);
});

test('a body that was given up, or that stalls, holds up nobody', async () => {
  const still = Array.from({ length: 40 }, () => threads.open(['MD5']));
  for (const running of still) await running.update(randomBytes(600_000));
  const givenUp = threads.open(['MD5']);
  await givenUp.update(randomBytes(2_000_000));
  givenUp.discard();
  const body = randomBytes(9_000_000);
  expect((await digestOf(body, 65_536)).MD5).toBe(createHash('md5').update(body).digest('base64'));
  for (const running of still) running.discard();
});

test('when the thread ends, waiting callers get an error, and the next body gets another thread', async () => {
  const mortal = openDigestThreads();
  const running = mortal.open(['MD5']);
  await running.update(randomBytes(1000));
  await mortal.close();
  await expect(running.finish()).rejects.toThrow('digests uploads ended');
  const next = mortal.open(['MD5']);
  await next.update(Buffer.from('hello'));
  expect((await next.finish()).get('MD5')?.toString('hex')).toBe('5d41402abc4b2a76b9719d911017c592');
  await mortal.close();
});
