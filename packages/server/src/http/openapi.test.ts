import { routes } from '@cadiz/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { handlers } from './app.ts';
import { findRoute } from './router.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ settings: { CADIZ_PUBLIC_URL: 'https://media.example.com/' } });
});
afterAll(() => service.close());

test('every route that is registered is in the document, and every one of the document is registered (checklist 50)', async () => {
  const { body } = await service.call('GET', '/openapi.json');
  const documented = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    ([path, operations]) =>
      Object.entries(operations).map(([method, { operationId }]) => [method.toUpperCase(), path, operationId] as const),
  );
  for (const [method, path, operationId] of documented) {
    expect(findRoute(method, path.replaceAll(/\{\w+\}/g, 'x'))?.operation).toBe(operationId);
  }
  const operationIds = documented.map(([, , operationId]) => operationId).sort();
  expect(operationIds).toEqual(Object.keys(handlers).sort());
  expect(operationIds).toEqual(Object.keys(routes).sort());
});

test('the document says where this service is', async () => {
  const { body, headers } = await service.call('GET', '/openapi.json');
  expect(headers.get('content-type')).toBe('application/json');
  expect(body.servers).toEqual([{ url: 'https://media.example.com' }]);
  const other = await startTestService({ beside: service, settings: { CADIZ_PUBLIC_URL: 'http://localhost:4999' } });
  expect((await other.call('GET', '/openapi.json')).body.servers).toEqual([{ url: 'http://localhost:4999' }]);
});
