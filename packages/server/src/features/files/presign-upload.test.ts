import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

describe('POST /api/storage/presign', () => {
  test('answers an address that takes the bytes, and nothing else', async () => {
    const ada = await service.signUp();
    const projectId = await service.createProject(ada);
    const { key } = await service.createKey(ada, projectId);
    const body = {
      projectId,
      fileName: 'Übersicht 100% + #1 👩‍👩‍👧.txt',
      mimeType: 'text/plain',
      fileSize: 5,
      folderId: null,
    };

    const answer = await service.call('POST', '/api/storage/presign', { key, body });

    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['presignedUrl', 'storeKey']);
    expect(answer.body.storeKey).toMatch(new RegExp(`^${projectId}/\\d{19}-`));
    expect(answer.body.storeKey.endsWith(`-${body.fileName}`)).toBe(true);
    expect((await send('PUT', answer.body.presignedUrl, Buffer.from('hello!'))).status).toBe(403);
    expect((await send('PUT', answer.body.presignedUrl, Buffer.from('hello'))).status).toBe(200);
  });
});
