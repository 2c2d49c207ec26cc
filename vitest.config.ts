import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'e2e/**/*.test.ts'],
    pool: 'forks',
    // Vitest would leave a core idle, which on two cores is half of the machine.
    maxWorkers: '100%',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Far longer than anything takes: a machine that is busy must not fail a test.
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default'],
  },
});
