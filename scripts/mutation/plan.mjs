// @ts-check
const server = 'packages/server/src';

/**
 * The modules that decide who may do what, and the tests that have to notice when one of them is wrong: the quickest first.
 * @type {Record<string, string[]>}
 */
export const plan = {
  [`${server}/http/caller.ts`]: [`${server}/http/caller.test.ts`],
  [`${server}/features/projects/open-project.ts`]: [
    `${server}/features/projects/open-project.test.ts`,
    `${server}/features/projects/projects.test.ts`,
  ],
  [`${server}/found-cache.ts`]: [`${server}/found-cache.test.ts`],
  [`${server}/access-changes.ts`]: [`${server}/access-changes.test.ts`, `${server}/features/api-keys/api-keys.test.ts`],
  ...ofFeature('members', ['change-member', 'list-members', 'lock-members', 'remove-member']),
  ...ofFeature('invitations', ['accept-invitation', 'create-invitation', 'list-invitations', 'remove-invitation']),
  ...ofFeature(
    'api-keys',
    [
      ...['alive-key', 'create-api-key', 'find-api-key-caller', 'find-api-key', 'list-api-keys', 'manageable-keys'],
      ...['revoke-api-key', 'rotate-api-key', 'token'],
    ],
    ['token', 'rotate-api-key', 'api-keys'],
  ),
};

/** @param {string} feature @param {string[]} modules @param {string[]} tests */
function ofFeature(feature, modules, tests = [feature]) {
  const folder = `${server}/features/${feature}`;
  const all = tests.map((name) => `${folder}/${name}.test.ts`);
  return Object.fromEntries(modules.map((name) => [`${folder}/${name}.ts`, all]));
}
