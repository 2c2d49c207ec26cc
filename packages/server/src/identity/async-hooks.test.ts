import { createHook, executionAsyncId } from 'node:async_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** Promises know the id of their execution only while hooks are enabled. */
async function promisesAreFollowed(): Promise<boolean> {
  await Promise.resolve();
  return executionAsyncId() !== 0;
}

// On Node 20 and 22, an AsyncLocalStorage anywhere permanently slows every promise of the process: a presign by a
// tenth.
test('no promise is followed, also when somebody has signed in', async () => {
  const hook = createHook({ init: () => undefined }).enable();
  expect(await promisesAreFollowed()).toBe(true);
  hook.disable();

  const ada = await service.signUp();
  await Promise.all([
    service.call('GET', '/api/projects', { as: ada }),
    service.call('GET', '/api/projects', { as: ada }),
    service.call('GET', '/api/auth/get-session', { as: ada }),
  ]);
  expect(await promisesAreFollowed()).toBe(false);
});
