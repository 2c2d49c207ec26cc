import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { md5 } from '../../test/multipart.ts';
import { type Answer, bucket, filed, send, startStore, type TestStore, until } from '../../test/running-store.ts';
import { maxPackedBytes } from '../disk/take-in.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

interface Upload {
  key: string;
  id: string;
  open: boolean;
  parts: Map<number, string>;
}

/** What the store should contain. */
interface Model {
  objects: Map<string, string>;
  /** the objects whose bytes are in files: those uploaded in parts, and those too large for the index */
  inFiles: Set<string>;
  uploads: Upload[];
}

type Step =
  | { do: 'put' | 'delete' | 'begin'; key: string; body: string }
  | { do: 'copy'; key: string; from: string }
  | { do: 'part' | 'partCopy' | 'complete' | 'abort'; upload: number; number: number; from: string; body: string };

const key = fc.constantFrom('a', 'a/b', 'ä');
const body = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }).map(filed));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('put', 'delete', 'begin', 'begin', 'begin'), key, body }),
  fc.record({ do: fc.constant('copy'), key, from: key }),
  fc.record({
    do: fc.constantFrom('part', 'part', 'part', 'partCopy', 'complete', 'complete', 'abort'),
    upload: fc.nat(1),
    number: fc.integer({ min: 1, max: 2 }),
    from: key,
    body,
  }),
);

const call = (method: string, on: string, query = {}, sent: { headers?: Record<string, string>; body?: string } = {}) =>
  send(method, store.presign(method, on, { query, headers: sent.headers ?? {} }), sent);
const sourceOf = (from: string) => ({ 'x-amz-copy-source': `${bucket}/${encodeURIComponent(from)}` });
const outcome = ({ status, code }: Answer) => code ?? status;

function hold({ objects, inFiles }: Model, on: string, body: string): void {
  objects.set(on, body);
  if (Buffer.byteLength(body) > maxPackedBytes) inFiles.add(on);
  else inFiles.delete(on);
}

async function run(model: Model, taken: Step): Promise<void> {
  const { objects, inFiles, uploads } = model;
  if ('upload' in taken) {
    const upload = uploads[taken.upload];
    if (upload) await runOnUpload(model, upload, taken);
  } else if (taken.do === 'put') {
    expect(outcome(await call('PUT', taken.key, {}, { body: taken.body }))).toBe(200);
    hold(model, taken.key, taken.body);
  } else if (taken.do === 'delete') {
    expect(outcome(await call('DELETE', taken.key))).toBe(204);
    objects.delete(taken.key);
    inFiles.delete(taken.key);
  } else if (taken.do === 'begin') {
    const id = /<UploadId>(\w+)</.exec((await call('POST', taken.key, { uploads: '' })).text)?.[1] ?? '';
    uploads.push({ key: taken.key, id, open: true, parts: new Map() });
  } else if (taken.do === 'copy') {
    const answer = await call('PUT', taken.key, {}, { headers: sourceOf(taken.from) });
    const found = objects.get(taken.from);
    const expected = taken.from === taken.key ? 'InvalidRequest' : found === undefined ? 'NoSuchKey' : 200;
    expect(outcome(answer)).toBe(expected);
    if (expected === 200) hold(model, taken.key, found ?? '');
  }
}

async function runOnUpload(
  { objects, inFiles }: Model,
  upload: Upload,
  taken: Extract<Step, { upload: number }>,
): Promise<void> {
  const { key: on, id, parts, open } = upload;
  const part = { partNumber: String(taken.number), uploadId: id };
  if (taken.do === 'part') {
    expect(outcome(await call('PUT', on, part, { body: taken.body }))).toBe(open ? 200 : 'NoSuchUpload');
    if (open) parts.set(taken.number, taken.body);
  } else if (taken.do === 'partCopy') {
    const found = objects.get(taken.from);
    const expected = !open ? 'NoSuchUpload' : found === undefined ? 'NoSuchKey' : 200;
    expect(outcome(await call('PUT', on, part, { headers: sourceOf(taken.from) }))).toBe(expected);
    if (expected === 200) parts.set(taken.number, found ?? '');
  } else if (taken.do === 'abort') {
    expect(outcome(await call('DELETE', on, { uploadId: id }))).toBe(open ? 204 : 'NoSuchUpload');
    upload.open = false;
  } else if (open) {
    const named = parts.get(taken.number);
    const line = `<Part><PartNumber>${taken.number}</PartNumber><ETag>${md5(named ?? '')}</ETag></Part>`;
    const answer = await call(
      'POST',
      on,
      { uploadId: id },
      { body: `<CompleteMultipartUpload>${line}</CompleteMultipartUpload>` },
    );
    expect(outcome(answer)).toBe(named === undefined ? 'InvalidPart' : 200);
    if (named === undefined) return;
    objects.set(on, named);
    inFiles.add(on);
    upload.open = false;
  }
}

/** Compares the store with the model; returns how many files it needs. */
async function compare({ objects, inFiles, uploads }: Model): Promise<number> {
  for (const name of ['a', 'a/b', 'ä']) {
    const answer = await call('GET', name);
    expect(answer.status === 404 ? undefined : answer.text, name).toBe(objects.get(name));
  }
  for (const { key: on, id, open, parts } of uploads) {
    const { status, text } = await call('GET', on, { uploadId: id });
    expect(status).toBe(open ? 200 : 404);
    const listed = [...text.matchAll(/<PartNumber>(\d+)<.*?<ETag>&quot;(\w+)&quot;</g)].map(([, at, etag]) => [
      Number(at),
      etag,
    ]);
    const expected = [...parts].sort(([a], [b]) => a - b).map(([at, sent]) => [at, md5(sent)]);
    expect(listed).toEqual(open ? expected : []);
  }
  return uploads.reduce((sum, { open, parts }) => sum + (open ? parts.size : 0), inFiles.size);
}

test('any operations in any order: objects, uploads and files are as expected, and no file is left over', async () => {
  const steps = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const model: Model = { objects: new Map(), inFiles: new Set(), uploads: [] };
      try {
        for (const each of taken) await run(model, each);
        const needed = await compare(model);
        await until(() => store.files().length === needed);
      } finally {
        for (const { key: on, id } of model.uploads) await call('DELETE', on, { uploadId: id });
        for (const name of ['a', 'a/b', 'ä']) await call('DELETE', name);
      }
      await until(() => store.files().length === 0);
    }),
    // A leftover file would stay for the runs that look for a shorter example.
    { numRuns: series({ full: 60, short: 20 }), endOnFailure: true },
  );
});
