// @ts-check
const server = 'packages/server/src';

/** What the access caches forget, and when. */
const forgets = `${server}/access/access-forgets.test.ts`;

/** Every route with every kind of caller, for what the tests of a module itself miss. */
export const matrix = [`${server}/http/access.test.ts`];

const invitations = ofFeature('invitations', ['invitations', 'withdrawn-invitation']);
const tickets = ofFeature('tickets');
const keys = [forgets, ...ofFeature('api-keys', ['rotate-api-key', 'api-keys']), `${server}/http/folder-keys.test.ts`];

/**
 * The modules that decide on access, and the tests that must notice if one of them is wrong, fastest first.
 * @type {Record<string, string[]>}
 */
export const plan = {
  [`${server}/http/caller.ts`]: [
    ...['caller', 'slow-body', 'rate-limit'].map((name) => `${server}/http/${name}.test.ts`),
  ],
  [`${server}/http/client-address.ts`]: [`${server}/http/client-address.test.ts`],
  [`${server}/access/open-project.ts`]: [
    `${server}/access/open-project.test.ts`,
    `${server}/features/projects/projects.test.ts`,
  ],
  [`${server}/access/reopen-project.ts`]: [
    `${server}/features/files/list-files-access.test.ts`,
    ...['archive-ends', 'archives'].map((name) => `${server}/features/downloads/${name}.test.ts`),
  ],
  [`${server}/access/find-session-caller.ts`]: [
    `${server}/features/downloads/archive-ends.test.ts`,
    `${server}/identity/sign-in/sign-in.test.ts`,
  ],
  [`${server}/access/found-cache.ts`]: [`${server}/access/found-cache.test.ts`],
  [`${server}/access/access-changes.ts`]: [forgets],
  [`${server}/access/forgetting.ts`]: [`${server}/access/found-cache.test.ts`, forgets],
  ...forEach(
    'access',
    ['is-within', 'require-folder'],
    [
      `${server}/http/folder-keys.test.ts`,
      ...['get-folder', 'create-folder', 'change-folder'].map((name) => `${server}/features/folders/${name}.test.ts`),
      `${server}/features/uploads/presign-upload.test.ts`,
      `${server}/features/files/change-file.test.ts`,
      `${server}/features/bulk/change-many.test.ts`,
    ],
  ),
  ...forEach('access', ['lock-members'], ofFeature('members')),
  ...forEach('features/members', ['change-member', 'list-members', 'remove-member'], ofFeature('members')),
  ...forEach('access', ['acceptable-invitation', 'use-invitation'], invitations),
  ...forEach(
    'features/invitations',
    ['accept-invitation', 'create-invitation', 'list-invitations', 'withdraw-invitation'],
    invitations,
  ),
  ...forEach('access', ['alive-key', 'find-api-key-caller', 'find-api-key', 'known-credentials'], keys),
  ...forEach(
    'features/api-keys',
    ['create-api-key', 'list-api-keys', 'manageable-keys', 'revoke-api-key', 'rotate-api-key'],
    keys,
  ),
  ...forEach('access', ['find-ticket'], tickets),
  ...forEach('tickets', ['require-within-ticket', 'reserve', 'reservations', 'discard'], tickets),
  ...forEach('features/tickets', ['create-ticket', 'list-tickets', 'revoke-ticket'], tickets),
  [`${server}/access/token.ts`]: [`${server}/access/api-key-token.test.ts`, ...ofFeature('api-keys', ['api-keys'])],
};

/** @param {string} feature @returns its tests, and those of what is written down about it */
function ofFeature(feature, tests = [feature]) {
  const own = tests.map((name) => `${server}/features/${feature}/${name}.test.ts`);
  return [...own, `${server}/features/audit/audit.test.ts`];
}

/** @param {string} room @param {string[]} modules @param {string[]} tests */
function forEach(room, modules, tests) {
  return Object.fromEntries(modules.map((name) => [`${server}/${room}/${name}.ts`, tests]));
}
