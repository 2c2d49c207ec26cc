// @ts-check
const server = 'packages/server/src';

/** What caches of access forget, and when. */
const forgets = `${server}/access-forgets.test.ts`;

/** Every route, asked by every kind of caller: for what the tests of a module itself let pass. */
export const matrix = [`${server}/http/access.test.ts`];

/**
 * The modules that decide who may do what, and the tests that have to notice when one of them is wrong: the quickest first.
 * @type {Record<string, string[]>}
 */
export const plan = {
  [`${server}/http/caller.ts`]: [
    ...['caller', 'slow-body', 'rate-limit'].map((name) => `${server}/http/${name}.test.ts`),
  ],
  [`${server}/http/client-address.ts`]: [`${server}/http/client-address.test.ts`],
  [`${server}/features/projects/open-project.ts`]: [
    `${server}/features/projects/open-project.test.ts`,
    `${server}/features/projects/projects.test.ts`,
  ],
  [`${server}/features/projects/reopen-project.ts`]: [
    `${server}/features/files/list-files-access.test.ts`,
    ...['archive-ends', 'archives'].map((name) => `${server}/features/downloads/${name}.test.ts`),
  ],
  [`${server}/features/accounts/find-session-caller.ts`]: [`${server}/features/downloads/archive-ends.test.ts`],
  [`${server}/found-cache.ts`]: [`${server}/found-cache.test.ts`],
  [`${server}/access-changes.ts`]: [forgets],
  ...forEach(
    'folders',
    ['is-within', 'require-folder'],
    [
      `${server}/http/folder-keys.test.ts`,
      ...['get-folder', 'create-folder', 'change-folder'].map((name) => `${server}/features/folders/${name}.test.ts`),
      ...['presign-upload', 'change-file'].map((name) => `${server}/features/files/${name}.test.ts`),
      `${server}/features/bulk/change-many.test.ts`,
    ],
  ),
  ...forEach('members', ['change-member', 'list-members', 'lock-members', 'remove-member'], ofFeature('members')),
  ...forEach(
    'invitations',
    ['acceptable', 'accept-invitation', 'create-invitation', 'list-invitations', 'remove-invitation', 'use-invitation'],
    ofFeature('invitations', ['invitations', 'withdrawn-invitation']),
  ),
  ...forEach(
    'api-keys',
    [
      ...['alive-key', 'create-api-key', 'find-api-key-caller', 'find-api-key', 'list-api-keys', 'manageable-keys'],
      ...['revoke-api-key', 'rotate-api-key'],
    ],
    [forgets, ...ofFeature('api-keys', ['rotate-api-key', 'api-keys']), `${server}/http/folder-keys.test.ts`],
  ),
  ...forEach('api-keys', ['token'], ofFeature('api-keys', ['token', 'api-keys'])),
};

/** @param {string} feature @returns its tests, and those of what is written down about it */
function ofFeature(feature, tests = [feature]) {
  const own = tests.map((name) => `${server}/features/${feature}/${name}.test.ts`);
  return [...own, `${server}/features/audit/audit.test.ts`];
}

/** @param {string} feature @param {string[]} modules @param {string[]} tests */
function forEach(feature, modules, tests) {
  return Object.fromEntries(modules.map((name) => [`${server}/features/${feature}/${name}.ts`, tests]));
}
