import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PresignBatchRequest } from './batches.ts';
import { isPlainPresign, isPlainPresignBatch } from './plain-presign.ts';
import { PresignRequest } from './storage.ts';

const plain = {
  projectId: '0199f3a0-0000-7000-8000-00000000000a',
  fileName: 'Übersicht 100% + #1.jpg',
  mimeType: 'image/jpeg; q="1"',
  fileSize: 4_321_000,
  folderId: null,
};
const { projectId, ...plainFile } = plain;

test('what most requests send is plain', () => {
  expect(isPlainPresign(plain)).toBe(true);
  expect(isPlainPresign({ ...plain, fileSize: 0, folderId: projectId })).toBe(true);
});

test('a batch of what most requests send is plain', () => {
  expect(isPlainPresignBatch(batchOf(plainFile, { ...plainFile, folderId: projectId }))).toBe(true);
});

const upperCase = projectId.toUpperCase();

test.each([
  ['no object', null],
  ['a list', [plain]],
  ['a field too many', { ...plain, more: 1 }],
  ['a field from its prototype', Object.assign(Object.create(plain), {})],
  ['__proto__', JSON.parse(`{ "__proto__": {}, ${JSON.stringify(plain).slice(1)}`)],
  ['a missing field', { ...plain, folderId: undefined }],
  ['a project in upper case, which the schema changes', { ...plain, projectId: upperCase }],
  ['a folder in upper case, which the schema changes', { ...plain, folderId: upperCase }],
  ['a checksum, which the schema may change', { ...plain, sha256: 'A'.repeat(64) }],
])('%s is left to the schema', (_what, body) => {
  expect(isPlainPresign(body)).toBe(false);
});

const uuids = fc.uuid();
const almostGood = fc.record({
  projectId: uuids,
  fileName: fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary', maxLength: 300 })),
  mimeType: fc.constantFrom('image/png', 'a/b; c=d', 'a/b;c="', `a/${'b'.repeat(253)}`, `a/${'b'.repeat(254)}`),
  fileSize: fc.oneof(fc.maxSafeNat(), fc.integer(), fc.constantFrom(-0, 2 ** 53, 0.5)),
  folderId: fc.option(uuids),
});
const changes = fc.dictionary(fc.constantFrom(...Object.keys(plain), 'sha256', 'more'), fc.anything(), { maxKeys: 1 });
const bodies = fc.tuple(almostGood, changes).map(([body, change]) => ({ ...body, ...change }));

test('whatever is plain, the schema answers as it is', () => {
  let plainOnes = 0;
  fc.assert(
    fc.property(bodies, (body) => {
      if (!isPlainPresign(body)) return;
      plainOnes += 1;
      const { success, data } = PresignRequest.safeParse(body);
      expect(success).toBe(true);
      expect(data).toEqual(body);
    }),
    { numRuns: 1_000 },
  );
  expect(plainOnes).toBeGreaterThan(100);
});

test.each([
  ['no object', null],
  ['no list', { ...batchOf(plainFile), files: plainFile }],
  ['no file', batchOf()],
  ['a file too many', batchOf(...Array.from({ length: 101 }, () => plainFile))],
  ['all or nothing', { ...batchOf(plainFile), atomic: true }],
  ['a file that names the project', batchOf(plainFile, plain)],
  ['one file that is not plain', batchOf(plainFile, { ...plainFile, sha256: 'a'.repeat(64) })],
  ['a project in upper case', { ...batchOf(plainFile), projectId: upperCase }],
  ['null in place of a file', batchOf(null)],
])('a batch with %s is left to the schema', (_what, body) => {
  expect(isPlainPresignBatch(body)).toBe(false);
});

function batchOf(...files: unknown[]) {
  return { projectId, files };
}

test('whatever batch is plain, the schema answers as it is', () => {
  let plainOnes = 0;
  const batches = fc
    .array(bodies, { maxLength: 3 })
    .map((all) => batchOf(...all.map(({ projectId: _id, ...file }) => file)));
  fc.assert(
    fc.property(batches, (batch) => {
      if (!isPlainPresignBatch(batch)) return;
      plainOnes += 1;
      expect(PresignBatchRequest.safeParse(batch)).toMatchObject({ success: true, data: batch });
    }),
    { numRuns: 4_000 },
  );
  expect(plainOnes).toBeGreaterThan(100);
});
