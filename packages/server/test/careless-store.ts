import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { document, element, textElement } from '@cadiz/store/xml';

export interface CarelessStore {
  endpoint: string;
  /** by path, `/bucket/key` */
  objects: Map<string, string>;
  /** the bucket's policy, as it was put */
  policy: string | undefined;
  close(): void;
}

/**
 * An S3 server that checks no signature, obeys every header, and ignores the prefix of a listing: every fault a store
 * can have at once. It implements just enough of S3 to pass for a store.
 */
export async function openCarelessStore(): Promise<CarelessStore> {
  const objects = new Map<string, string>();
  const store: CarelessStore = { endpoint: '', objects, policy: undefined, close: () => server.close() };
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
    const path = decodeURIComponent(pathname);
    const isObject = path.split('/').length > 2;
    const answer = (status: number, text = '', headers = {}) => void response.writeHead(status, headers).end(text);
    if (searchParams.has('policy')) return answerPolicy(request.method ?? '', body, answer);
    if (!isObject) return answerBucket(request.method ?? '', path, searchParams, answer);
    const found = objects.get(path);
    if (request.method === 'PUT') {
      const source = request.headers['x-amz-copy-source'];
      objects.set(path, typeof source === 'string' ? (objects.get(source) ?? '') : body);
      return answer(200);
    }
    if (request.method === 'DELETE') {
      objects.delete(path);
      return answer(204);
    }
    if (request.method === 'POST') return answer(501);
    if (found === undefined) return answer(404, '<Error><Code>NoSuchKey</Code><Message></Message></Error>');
    const etag = `"${createHash('md5').update(found).digest('hex')}"`;
    return answer(200, request.method === 'HEAD' ? '' : found, { 'content-length': Buffer.byteLength(found), etag });
  });

  type Respond = (status: number, text?: string, headers?: Record<string, string>) => void;

  function answerPolicy(method: string, body: string, answer: Respond) {
    if (method === 'PUT') {
      store.policy = body;
      return answer(204);
    }
    if (store.policy !== undefined) return answer(200, store.policy);
    return answer(404, '<Error><Code>NoSuchBucketPolicy</Code><Message></Message></Error>');
  }

  function answerBucket(method: string, path: string, query: URLSearchParams, answer: Respond) {
    if (method !== 'GET') return answer(method === 'HEAD' ? 200 : 501);
    if (!query.has('list-type')) return answer(501);
    const listed = [...objects].map(([key, text]) =>
      element('Contents', [
        textElement('Key', encodeURIComponent(key.slice(path.length + 1))),
        textElement('LastModified', '2026-01-01T00:00:00.000Z'),
        textElement('ETag', randomUUID()),
        textElement('Size', text.length),
      ]),
    );
    const children = [textElement('Name', path.slice(1)), textElement('IsTruncated', false), ...listed];
    return answer(200, document('ListBucketResult', children));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  store.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return store;
}
