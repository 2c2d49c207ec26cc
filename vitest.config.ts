import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isLong, longTests, notAskedFor } from './scripts/series.mjs';

/** What takes minutes in a long series. */
const longestOfLong = [
  'e2e/tickets-killed.test.ts',
  'packages/server/test/hostile-requests.test.ts',
  'e2e/operations-killed.test.ts',
  'e2e/events-killed.test.ts',
  'e2e/webhooks.test.ts',
  'packages/server/src/features/webhooks/webhooks.test.ts',
  'e2e/clients/clients.test.ts',
];

/** What takes longest, the longest first: `npm test` prints it at its end. Begun late, each would be waited for alone. */
const longest = [
  ...(isLong ? longestOfLong : []),
  'e2e/downloads-in-chromium.test.ts',
  'e2e/cli-transfer.test.ts',
  'e2e/client-faults.test.ts',
  'packages/cli/src/commands/many.test.ts',
  'e2e/admin-objects.test.ts',
  'e2e/start.test.ts',
  'e2e/orphans.test.ts',
  'e2e/images.test.ts',
  'packages/images/src/hostile-images.test.ts',
  'packages/server/src/http/access.test.ts',
  'packages/server/src/db/embedded-durability.test.ts',
  'e2e/admin-backup.test.ts',
  'e2e/client-in-chromium.test.ts',
  'e2e/examples.test.ts',
  'e2e/cli-import.test.ts',
  'e2e/left-behind.test.ts',
  'e2e/cli-account.test.ts',
  'e2e/cli-import-others.test.ts',
  'e2e/cli-events.test.ts',
  'e2e/cli-sync.test.ts',
  'e2e/cli-files.test.ts',
  'e2e/rolling-restart.test.ts',
  'e2e/tickets-killed.test.ts',
  'e2e/webhooks.test.ts',
  'e2e/traces.test.ts',
  'packages/server/src/features/webhooks/webhooks.test.ts',
  'e2e/links-in-chromium.test.ts',
  'packages/server/src/features/files/list-files-at-size.test.ts',
  'packages/server/src/features/files/list-files-filter-at-size.test.ts',
  'packages/store/test/kill-at-each-stage.test.ts',
  'packages/server/test/hostile-requests.test.ts',
  'e2e/hostile-clients.test.ts',
  'packages/server/src/features/downloads/write-zip.test.ts',
  'packages/server/src/store/s3-store.test.ts',
  'packages/server/src/features/downloads/archives.test.ts',
  'packages/server/src/identity/account-takeover.test.ts',
  'packages/server/src/db/upgrades.test.ts',
  'packages/store/src/process/lost-index.test.ts',
];

/**
 * Each in a process of its own: tests that load a browser's driver, and tests that measure their process, such as its
 * memory, its open files, or whether it follows promises. They begin first, so what takes longest in a long series is here then.
 */
const alone = [
  'e2e/**/*.test.ts',
  ...(isLong ? longestOfLong : []),
  'packages/contract/src/fields.test.ts',
  'packages/images/src/hostile-images.test.ts',
  'packages/server/src/db/embedded-failure.test.ts',
  'packages/server/src/features/downloads/archives.test.ts',
  'packages/server/src/features/downloads/write-zip.test.ts',
  'packages/server/src/identity/async-hooks.test.ts',
  'packages/store/src/operations/complete-multipart-upload.test.ts',
];

/** Whether the command names what to run: `vitest run e2e/orphans.test.ts`, `-t checklist`. */
const isNamed = process.argv
  .slice(2)
  .some((argument) => argument !== 'run' && !/^--(?!testNamePattern)/.test(argument));
const leftOut = isNamed ? [] : [...(isLong ? [] : longTests), ...notAskedFor.flatMap(({ files }) => files)];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const at = longest.indexOf(relative(import.meta.dirname, moduleId));
      return at === -1 ? longest.length : at;
    };
    // A worker is kept only from one file that shares it to the next.
    const isShared = ({ project }: TestSpecification) => Number(!project.config.isolate);
    return (await super.sort(files)).sort((a, b) => isShared(a) - isShared(b) || placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    globalSetup: './scripts/test-folder.mjs',
    projects: [
      { extends: true, test: { name: 'alone', include: alone, exclude: [...configDefaults.exclude, ...leftOut] } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone, ...leftOut],
          // The files of a worker share what they import, and the compiled database (packages/server/test/database.ts).
          isolate: false,
        },
      },
    ],
    // Two more than there are cores: many tests wait for a disk, a timer or a process, and others can run meanwhile.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Far longer than anything takes: a machine that is busy must not fail a test.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: isLong || process.env.TEST_CONSOLE === 'on' ? 300_000 : 60_000 } },
    reporters: ['default', './scripts/report-tests.mjs'],
  },
});
