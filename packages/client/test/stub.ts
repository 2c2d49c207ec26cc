import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@cadiz/client';

type Options = Parameters<typeof createClient>[0];

/** A service and a store that accept everything, and what they were asked. */
export interface Stub {
  /** `METHOD /path?query`, in order. */
  asked: string[];
  bodies: Record<string, unknown>[];
  /** What the store has taken. */
  puts: number;
  /** What is answered to a path, without the query. */
  answers: Record<string, object>;
  fetch: typeof fetch;
  /** A client with a key and a project, unless it is given others. */
  client(options?: Partial<Options>): ReturnType<typeof createClient>;
  close(): void;
}

export const id = '0199f3a0-0000-7000-8000-000000000000';

export async function startStub(): Promise<Stub> {
  const store = http.createServer((request, response) =>
    request.resume().on('end', () => {
      stub.puts++;
      response.end();
    }),
  );
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  const presignedUrl = `http://127.0.0.1:${(store.address() as AddressInfo).port}/a?X-Amz-Expires=900`;
  const upload = { presignedUrl, storeKey: 'k' };
  const many = (body: Record<string, unknown>, one: object) => ({ results: (body.files as object[]).map(() => one) });
  const stub: Stub = {
    asked: [],
    bodies: [],
    puts: 0,
    answers: {},
    async fetch(input, init) {
      const { pathname, search } = new URL(String(input));
      const body = JSON.parse(String(init?.body ?? '{}'));
      stub.asked.push(`${init?.method} ${pathname}${search}`);
      stub.bodies.push(body);
      const usual: Record<string, () => object> = {
        '/api/storage/presign': () => upload,
        '/api/storage/presign/batch': () => many(body, { upload }),
        '/api/storage/record': () => ({ id: 'file', ...body }),
        '/api/storage/record/batch': () => many(body, { file: { id: 'file' } }),
        '/api/storage/uploads': () => ({ uploadId: id, storeKey: 'k', partSize: 5 * 1024 ** 2, partCount: 1 }),
        [`/api/storage/uploads/${id}/parts`]: () => ({ parts: [{ partNumber: 1, presignedUrl }] }),
        [`/api/storage/uploads/${id}/complete`]: () => ({ id: 'file' }),
        '/api/storage/folders/ensure': () => ({ folders: (body.paths as string[]).map((name) => ({ id: name })) }),
      };
      return Response.json(stub.answers[pathname] ?? usual[pathname]?.() ?? {});
    },
    client: (options) =>
      createClient({ baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', fetch: stub.fetch, ...options }),
    close() {
      store.closeAllConnections();
      store.close();
    },
  };
  return stub;
}
