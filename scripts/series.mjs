// @ts-check

const lengths = /** @type {const} */ (['short', 'ci', 'full']);
/** How long series of tests are: as in `npm test`, as in `.ci/run`, or in full, as before a release. */
const asked = lengths.find((length) => length === (process.env.TEST_SERIES || 'short'));
if (!asked) throw new Error(`TEST_SERIES must be one of ${lengths.join(', ')}, and is ${process.env.TEST_SERIES}.`);
const length = asked;

/** Whether series are longer than those of `npm test`. */
export const isLong = length !== 'short';

/**
 * What takes long and seldom finds anything: rounds of `kill -9`, full disks, journeys in a browser, other people's clients, large folders, moves
 * from and to other services, upgrades, starts, whole groups of commands. `npm test` leaves it out unless it is named; `.ci/run` runs all but `beforeRelease`.
 */
export const longTests = [
  'e2e/admin-backup.test.ts',
  'e2e/admin-migrate.test.ts',
  'e2e/admin-objects.test.ts',
  'e2e/cli-account.test.ts',
  'e2e/cli-completion.test.ts',
  'e2e/cli-events.test.ts',
  'e2e/cli-files.test.ts',
  'e2e/cli-import-others.test.ts',
  'e2e/cli-import.test.ts',
  'e2e/cli-sync.test.ts',
  'e2e/cli-transfer.test.ts',
  'e2e/client-faults.test.ts',
  'e2e/client-in-chromium.test.ts',
  'e2e/client-react-native.test.ts',
  'e2e/clients/clients.test.ts',
  'e2e/console-first-run.test.ts',
  'e2e/console.test.ts',
  'e2e/cross-site-in-chromium.test.ts',
  'e2e/doctor.test.ts',
  'e2e/downloads-in-chromium.test.ts',
  'e2e/events-killed.test.ts',
  'e2e/examples.test.ts',
  'e2e/full-disk.test.ts',
  'e2e/hostile-clients.test.ts',
  'e2e/images.test.ts',
  'e2e/left-behind.test.ts',
  'e2e/links-in-chromium.test.ts',
  'e2e/operations-killed.test.ts',
  'e2e/orphans.test.ts',
  'e2e/passkeys-in-chromium.test.ts',
  'e2e/rolling-restart.test.ts',
  'e2e/site-in-chromium.test.ts',
  'e2e/start.test.ts',
  'e2e/tickets-killed.test.ts',
  'e2e/traces.test.ts',
  'e2e/upgrades.test.ts',
  'e2e/walk.test.ts',
  'e2e/webhooks.test.ts',
  'packages/cli/src/commands/many.test.ts',
  'packages/images/src/hostile-images.test.ts',
  'packages/images/src/posters.test.ts',
  'packages/images/src/processes.test.ts',
  'packages/server/src/admin/versions.test.ts',
  'packages/server/src/db/embedded-disk-full.test.ts',
  'packages/server/src/db/embedded-durability.test.ts',
  'packages/server/src/db/embedded-failure.test.ts',
  'packages/server/src/db/upgrades.test.ts',
  'packages/server/src/doctor/doctor.test.ts',
  'packages/server/src/features/bulk/selections.test.ts',
  'packages/server/src/features/downloads/archives.test.ts',
  'packages/server/src/features/downloads/write-zip.test.ts',
  'packages/server/src/features/files/list-files-at-size.test.ts',
  'packages/server/src/features/files/list-files-counts-at-size.test.ts',
  'packages/server/src/features/files/list-files-filter-at-size.test.ts',
  'packages/server/src/features/files/list-files-order.test.ts',
  'packages/server/src/features/files/list-files-search.test.ts',
  'packages/server/src/features/files/list-files-short-pages.test.ts',
  'packages/server/src/features/images/many-variants.test.ts',
  'packages/server/src/features/janitor/reconcile-project.test.ts',
  'packages/server/src/work/work-killed.test.ts',
  'packages/store/src/disk/check-index-file.test.ts',
  'packages/store/src/operations/complete-multipart-upload.test.ts',
  'packages/store/src/process/cli.test.ts',
  'packages/store/src/process/durability.test.ts',
  'packages/store/src/process/lost-index.test.ts',
  'packages/store/src/process/multipart-durability.test.ts',
  'packages/store/test/compaction-killed.test.ts',
  'packages/store/test/crash.test.ts',
  'packages/store/test/full-disk.test.ts',
  'packages/store/test/kill-at-each-stage.test.ts',
  'packages/store/test/shared-disk.test.ts',
];

/**
 * What does nothing unless a setting is there: neither `npm test` nor `.ci/run` begins it without, unless it is named.
 * @type {{ setting: string, files: string[], what: string }[]}
 */
const onlyWith = [
  { setting: 'TEST_CONSOLE', files: ['e2e/console-*.test.ts'], what: 'journeys through the console' },
  { setting: 'TEST_NEXTJS', files: ['e2e/nextjs.test.ts'], what: 'the Next.js example as a whole' },
  { setting: 'TEST_PACKED', files: ['e2e/packed.test.ts'], what: 'the command as it is published' },
  { setting: 'TEST_RUNTIMES', files: ['e2e/client-runtimes.test.ts'], what: 'the SDK in Bun, Deno and a Worker' },
];

/** Those whose setting is not there. */
export const notAskedFor = onlyWith.filter(({ setting }) => !process.env[setting]);

/**
 * Of `longTests`, what `.ci/run` leaves to releases on the embedded database and store: what takes minutes and has not found anything for long, or runs on
 * PostgreSQL there anyway.
 */
export const beforeRelease = [
  'e2e/admin-objects.test.ts',
  'e2e/cli-account.test.ts',
  'e2e/cli-completion.test.ts',
  'e2e/cli-import-others.test.ts',
  'e2e/clients/clients.test.ts',
  'e2e/downloads-in-chromium.test.ts',
  'e2e/links-in-chromium.test.ts',
  'e2e/orphans.test.ts',
  'e2e/passkeys-in-chromium.test.ts',
  'e2e/rolling-restart.test.ts',
  'e2e/site-in-chromium.test.ts',
  'e2e/tickets-killed.test.ts',
  'e2e/traces.test.ts',
  'e2e/walk.test.ts',
  'packages/cli/src/commands/many.test.ts',
  'packages/server/src/doctor/doctor.test.ts',
  'packages/server/src/features/bulk/selections.test.ts',
  'packages/server/src/features/downloads/archives.test.ts',
  'packages/server/src/features/downloads/write-zip.test.ts',
  'packages/server/src/features/files/list-files-at-size.test.ts',
  'packages/server/src/features/files/list-files-counts-at-size.test.ts',
  'packages/server/src/features/files/list-files-filter-at-size.test.ts',
  'packages/server/src/features/files/list-files-order.test.ts',
  'packages/server/src/features/files/list-files-search.test.ts',
  'packages/server/src/features/files/list-files-short-pages.test.ts',
  'packages/server/src/features/janitor/reconcile-project.test.ts',
];

/** What `.ci/run` leaves to releases on PostgreSQL and Ceph RGW: it takes a minute each, and finds there what it found with the embedded ones. */
export const beforeReleaseOnPostgres = [
  'packages/server/src/features/files/list-files-counts-at-size.test.ts',
  'packages/server/src/features/files/list-files-filter-at-size.test.ts',
  'packages/server/src/features/files/list-files-order.test.ts',
  'packages/server/src/features/files/list-files-short-pages.test.ts',
  'packages/server/src/features/images/images.test.ts',
  'packages/server/src/features/images/many-variants.test.ts',
  'packages/server/src/http/access.test.ts',
  'packages/server/src/http/answer-headers.test.ts',
  'packages/server/src/identity/oidc/oidc.test.ts',
  'packages/server/src/identity/passwords/reset-password.test.ts',
  'packages/server/src/identity/second-factor/second-factor.test.ts',
];

/** The journeys through the console that `.ci/run` makes beside `e2e/console-files.test.ts`, which runs on PostgreSQL. The others are left to releases. */
export const dailyJourneys = ['e2e/console.test.ts', 'e2e/console-first-run.test.ts'];

/** What `npm test` runs in a short form, and `.ci/run` once more in a longer one, with the embedded database and store too. */
export const againInCi = [
  'packages/server/test/hostile-requests.test.ts',
  'packages/server/test/library-model.test.ts',
  'packages/store/src/operations/multipart-model.test.ts',
];

/**
 * The length of a series in a test, which TEST_SERIES names. The shorter forms do the same fewer times, but leave out no
 * kind of case. `.ci/run` must end within 45 minutes: only what takes minutes in full has a form of its own there.
 * @template T
 * @param {{ full: T, ci?: T, short: T }} lengths
 * @returns {T}
 */
export function series({ full, ci = full, short }) {
  return { full, ci, short }[length];
}
