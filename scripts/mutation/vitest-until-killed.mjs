// @ts-check
// Test files import this instead of vitest: once a mutant is killed, nothing more is set up for it.
import * as vitest from 'vitest';

export * from 'vitest';

export const state = { isKilled: false };

/** @param {() => unknown} prepare */
export const beforeAll = (prepare) => vitest.beforeAll(async () => void (state.isKilled || (await prepare())));

/** @param {() => unknown} end */
export const afterAll = (end) =>
  vitest.afterAll(async () => {
    try {
      await end();
    } catch (error) {
      // What was not set up needs no teardown.
      if (!state.isKilled) throw error;
    }
  });
