import { type Role, roles, type Scope, scopes } from '@cadiz/contract';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Deps } from '../deps.ts';
import type { ApiKeyCaller, Caller } from './caller.ts';
import { createForgetting } from './forgetting.ts';
import { createFoundCache } from './found-cache.ts';
import { openProject, openProjectOf, type Right, requireScope } from './open-project.ts';

let members: Record<string, Role>;
let folders: string[];
let fails: Error | undefined;
let deps: Pick<Deps, 'access'>;

beforeEach(() => {
  members = { 'P ada': 'owner', 'P eve': 'editor', 'P vera': 'viewer' };
  folders = ['P F'];
  fails = undefined;
  const cache = <T extends NonNullable<unknown>>(ask: (name: string) => T | undefined) =>
    createFoundCache(async (projectId, id) => {
      if (fails) throw fails;
      return ask(`${projectId} ${id}`);
    }, Date.now);
  deps = {
    access: {
      roles: cache((name) => members[name]),
      folders: cache((name) => (folders.includes(name) ? true : undefined)),
      subtrees: cache((): true | undefined => undefined),
      changes: createForgetting(() => undefined),
    },
  };
});

const session = (userId: string): Caller => ({ kind: 'session', userId });
const key = (more: Partial<ApiKeyCaller>): ApiKeyCaller => ({
  ...{ kind: 'apiKey', keyId: 'K', createdBy: 'ada', scopes, tied: null },
  ...more,
});
const tied = (role: Role, folderId: string | null = null) => ({ projectId: 'P', folderId, role });

const open = async (caller: Caller, right: Right, projectId = 'P') => {
  try {
    return await openProject(deps, caller, projectId, right);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const files: Right[] = ['files:read', 'files:write', 'files:delete'];
const rights: Record<Role, Right[]> = {
  owner: [...files, 'keys:manage', 'project:manage'],
  editor: [...files, 'keys:manage'],
  viewer: ['files:read'],
};
const whole = { id: 'P', within: null };

describe.each(roles)('a member who is %s', (role) => {
  test.each(rights.owner)('%s', async (right) => {
    const userId = { owner: 'ada', editor: 'eve', viewer: 'vera' }[role];
    const expected = rights[role].includes(right) ? whole : 'role_missing';
    // Called twice, the second time from the cache.
    for (let i = 0; i < 2; i++) expect(await open(session(userId), right)).toEqual(expected);
    if (!files.includes(right)) return;
    expect(await open(key({ createdBy: userId }), right)).toEqual(expected);
    expect(await open(key({ createdBy: 'nobody', tied: tied(role) }), right)).toEqual(expected);
  });
});

describe('an API key', () => {
  test.each(files)('has the scopes it was made with and none of the rights reserved for people: %s', async (right) => {
    const only = key({ scopes: [right as Scope] });
    for (const other of rights.owner) {
      expect(await open(only, other)).toEqual(other === right ? whole : 'scope_missing');
      if (other !== right) expect(() => requireScope(only, other)).toThrow(other);
    }
    expect(requireScope(only, right)).toBeUndefined();
    expect(requireScope(session('nobody'), 'project:manage')).toBeUndefined();
  });

  test('that is tied reaches its own project, whoever made it, and no other', async () => {
    members['Q ada'] = 'owner';
    expect(await open(key({ tied: tied('owner') }), 'files:read', 'Q')).toBe('project_not_allowed');
    expect(await open(key({}), 'files:read', 'Q')).toEqual({ id: 'Q', within: null });
  });

  test('tied to a folder opens the project within that folder while it exists', async () => {
    const ofFolder = key({ tied: tied('editor', 'F') });
    for (let i = 0; i < 2; i++) expect(await open(ofFolder, 'files:write')).toEqual({ id: 'P', within: 'F' });
    expect(await open(key({ tied: tied('viewer', 'F') }), 'files:write')).toBe('role_missing');
    expect(await open(key({ tied: tied('editor', 'G') }), 'files:read')).toBe('project_not_found');
  });
});

test('a non-member is told that there is no such project', async () => {
  for (const caller of [session('bob'), key({ createdBy: 'bob' })]) {
    expect(await open(caller, 'files:read')).toBe('project_not_found');
    expect(await open(caller, 'files:read', 'none')).toBe('project_not_found');
  }
});

describe('a file or folder found by its own id', () => {
  const openOf = (caller: Caller, right: Right, projectId = 'P', isThere = true) =>
    openProjectOf(deps, caller, projectId, right, 'file_not_found', () => isThere).catch(
      (error: { code?: string }) => error.code ?? error,
    );

  test('is there for members of its project', async () => {
    expect(await openOf(session('ada'), 'files:read')).toEqual(whole);
  });

  test('is hidden from strangers and keys of other projects, but not from members whose role is too low', async () => {
    expect(await openOf(session('bob'), 'files:read')).toBe('file_not_found');
    expect(await openOf(key({ tied: tied('owner') }), 'files:read', 'Q')).toBe('file_not_found');
    expect(await openOf(key({ tied: tied('owner', 'G') }), 'files:read')).toBe('file_not_found');
    expect(await openOf(session('vera'), 'files:write')).toBe('role_missing');
  });

  test('is not found where the caller cannot see it, whatever their rights', async () => {
    for (const role of ['viewer', 'editor'] as const) {
      expect(await openOf(key({ tied: tied(role, 'F') }), 'files:write', 'P', false)).toBe('file_not_found');
    }
    expect(await openOf(key({ tied: tied('viewer', 'F') }), 'files:write')).toBe('role_missing');
  });

  test('a missing scope is reported the same way in any project', async () => {
    for (const projectId of ['P', 'Q']) {
      expect(await openOf(key({ scopes: [], tied: tied('owner') }), 'files:read', projectId)).toBe('scope_missing');
    }
  });

  test('a database failure is not mistaken for absence', async () => {
    fails = new Error('Connection terminated');
    expect(await openOf(session('ada'), 'files:read')).toBe(fails);
    fails = Object.assign(new Error('no connection'), { status: 403, code: 'x' });
    expect(await openOf(session('eve'), 'files:read')).toBe('x');
  });
});
