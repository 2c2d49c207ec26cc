import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openBucket } from './s3-bucket.ts';

test('a page of a list that breaks off is asked for again', async () => {
  const objects = ['a', 'b'].map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`);
  const page = `<ListBucketResult>${objects.join('')}</ListBucketResult>`;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-length': page.length });
    if (asked > 1) response.end(page);
    else response.write(page.slice(0, -10), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const env = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  const bucket = openBucket('photos', env, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const keys: string[] = [];
  for await (const { key } of bucket.list('')) keys.push(key);
  expect([asked, keys]).toEqual([2, ['a', 'b']]);
});
