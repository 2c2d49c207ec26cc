import { randomBytes } from 'node:crypto';
import { errorCodes, toOpenApiDocument } from '@cadiz/contract';
import { readColumns } from '../rows.ts';
import type { Answer, Person, TestService } from '../service.ts';
import { type Operation, readOperations, type Surroundings } from './requests.ts';

/** The attackers, what they know, and what none of them may reach. */
export interface Subject {
  /** The headers of each caller. */
  callers: Record<string, Record<string, string>>;
  /** The user whose session an account operation may end. */
  mayfly: Record<string, string>;
  surroundings: Surroundings;
  operations: Operation[];
  /** A project whose owner does not attack; a viewer of it and a read-only key do. */
  victim: { owner: Person; projectId: string; folderId: string; fileId: string; uploadId: string };
  /** Credentials, which no answer may repeat. */
  secrets: string[];
  /** Collects ids and tokens from an answer for later requests. */
  learn(answer: unknown): void;
  /** Whether the callers can still do what they could at first. */
  isIntact(): Promise<boolean>;
}

const capacity = 60;

/** A service with two projects that contain one of everything, and callers of every kind. */
export async function prepareSubject(service: TestService): Promise<Subject> {
  const ask = async (as: Person, method: string, path: string, body?: unknown): Promise<Answer['body']> => {
    const answer = await service.call(method, path, { as, body });
    if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const photo = (projectId: string) => ({
    projectId,
    fileName: 'a.jpg',
    mimeType: 'image/jpeg',
    fileSize: 5,
    folderId: null,
  });
  const makeFolder = async (as: Person, projectId: string, name: string) =>
    (await ask(as, 'POST', '/api/storage/folders', { projectId, name, parentId: null })).id as string;
  const makeFile = async (as: Person, projectId: string, folderId: string | null = null) =>
    ask(as, 'POST', '/api/storage/record', await service.upload({ as }, projectId, randomBytes(5), { folderId }));
  const makeUpload = async (as: Person, projectId: string) =>
    (await ask(as, 'POST', '/api/storage/uploads', photo(projectId))).uploadId as string;

  const [ada, bob, mayfly] = [await service.signUp('Ada'), await service.signUp('Bob'), await service.signUp('May')];
  const projectId = await service.createProject(ada);
  const viewer = await service.join(ada, projectId, 'viewer');
  const editor = await service.join(ada, projectId, 'editor');

  const bobs = await service.createProject(bob);
  const victim = {
    owner: bob,
    projectId: bobs,
    folderId: await makeFolder(bob, bobs, 'Mine'),
    fileId: (await makeFile(bob, bobs)).id as string,
    uploadId: await makeUpload(bob, bobs),
  };
  const bobsViewer = await service.join(bob, bobs, 'viewer');
  const bobsKey = await service.createKey(bob, bobs, { scopes: ['files:read'] });
  const bobsInvitation = await ask(bob, 'POST', `/api/projects/${bobs}/invitations`, {
    email: 'nobody@example.com',
    role: 'viewer',
  });

  const bobsWebhook = await ask(bob, 'POST', `/api/projects/${bobs}/webhooks`, { url: 'https://bob.example.com/' });

  // The first entries stay; later ones are replaced by what is learned.
  const kept = new Map<string[], number>();
  const pool = (...ids: string[]): string[] => {
    kept.set(ids, ids.length);
    return ids;
  };
  const projects = pool(projectId, projectId, projectId, bobs);
  const spareProjects = pool(bobs);
  const folders = pool(
    victim.folderId,
    await makeFolder(ada, projectId, 'One'),
    await makeFolder(ada, projectId, 'Two'),
  );
  const files = pool(victim.fileId);
  const uploads = pool(victim.uploadId);
  const storeKeys = pool();
  const apiKeys = pool(bobsKey.id);
  const tickets = pool();
  const invitations = pool(bobsInvitation.id);
  const webhooks = pool(bobsWebhook.id);
  const users = pool(ada.id, bob.id, editor.id);
  const tokens = pool(randomBytes(32).toString('base64url'));
  const archives = pool('x');
  const cursors = pool('x');
  const anyId = pool(projectId, bobs, victim.folderId, victim.fileId, victim.uploadId, ada.id, bob.id, bobsKey.id);
  const add = (to: string[], value: unknown, from = kept.get(to) ?? 0) => {
    if (typeof value !== 'string' || to.includes(value)) return;
    if (to.length < capacity) to.push(value);
    else to[from + Math.floor(Math.random() * (capacity - from))] = value;
  };

  function learn(answer: unknown): void {
    if (typeof answer !== 'object' || answer === null) return;
    if (Array.isArray(answer)) {
      for (const one of answer.slice(0, 20)) learn(one);
      return;
    }
    const { id, fileName, parentId, uploadId, storeKey, nextCursor, url, key, quotaBytes, ticket, failingSince } =
      answer as Record<string, unknown>;
    if (fileName !== undefined && id !== undefined) add(files, id);
    else if (parentId !== undefined) add(folders, id);
    else if (key !== undefined) add(apiKeys, id);
    else if (ticket !== undefined) add(tickets, id);
    else if (failingSince !== undefined) add(webhooks, id);
    else if (quotaBytes !== undefined) add(spareProjects, id);
    add(uploads, uploadId);
    add(storeKeys, storeKey);
    add(cursors, nextCursor);
    if (typeof url === 'string' && url.includes('#')) {
      add(tokens, url.split('#')[1]);
      add(invitations, id);
    } else if (typeof url === 'string' && url.includes('/archives/')) add(archives, url.split('/').at(-1));
    for (const value of Object.values(answer)) if (typeof value === 'object') learn(value);
  }

  for (let i = 0; i < 8; i++) {
    add(spareProjects, await service.createProject(ada));
    learn(await makeFile(ada, projectId, i % 2 === 0 ? null : (folders[1] ?? null)));
    learn(await ask(ada, 'POST', `/api/projects/${projectId}/webhooks`, { url: `https://a${i}.example.com/` }));
    add(storeKeys, (await service.upload({ as: ada }, projectId, randomBytes(5))).storeKey);
    add(uploads, await makeUpload(ada, projectId));
  }

  const bySegment: Record<string, string[]> = {
    projects,
    folders,
    files,
    uploads,
    archives,
    invitations,
    members: users,
    'api-keys': apiKeys,
    tickets,
    webhooks,
    errors: [...errorCodes],
  };
  const operations = readOperations(toOpenApiDocument('http://localhost', '0.0.0') as never);
  const pools: Surroundings['pools'] = {
    ...{ projectId: projects, folderId: folders, parentId: folders, folderIds: folders, fileIds: files },
    ...{ storeKey: storeKeys, uploadId: uploads, token: tokens, cursor: cursors, userId: users, anyId },
    ...{ foreignId: pool(bobs, victim.folderId, victim.fileId, victim.uploadId, bobsKey.id, bob.id) },
    email: pool(bob.email, ada.email),
  };
  for (const { path } of operations) {
    for (const [, segment = '', name = ''] of path.matchAll(/([\w-]+)\/\{(\w+)\}/g)) {
      pools[`${path} ${name}`] = bySegment[segment] ?? anyId;
    }
  }
  // These operations get projects of their own, so that they spare the one that the others need.
  pools['/api/projects/{projectId} projectId'] = spareProjects;

  const columns = new Set([...(await readColumns(service.deps.db)).values()].flat());
  const camelCase = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const key = async (more = {}, of: string | null = projectId) => (await service.createKey(ada, of, more)).key;
  const [tied, reader, untied] = [await key(), await key({ scopes: ['files:read'] }), await key({}, null)];
  const makeTicket = async () => {
    const body = { projectId, folderId: null, maxFiles: 10_000, maxBytes: 1e15, expiresIn: 86_400 };
    return (await ask(ada, 'POST', '/api/storage/tickets', body)) as { id: string; ticket: string };
  };
  const { ticket } = await makeTicket();
  learn(await makeTicket());
  const people = { owner: ada, editor, viewer, stranger: await service.signUp('Eve'), bobsViewer };
  const bearer = (raw: string) => ({ Authorization: `Bearer ${raw}` });
  return {
    callers: {
      none: {},
      ...Object.fromEntries(Object.entries(people).map(([name, { cookie }]) => [name, { Cookie: cookie }])),
      tied: bearer(tied),
      reader: bearer(reader),
      untied: bearer(untied),
      bobsReader: bearer(bobsKey.key),
      ticket: bearer(ticket),
    },
    mayfly: { Cookie: mayfly.cookie },
    surroundings: { pools, columns: [...columns, ...[...columns].map(camelCase)] },
    operations,
    victim,
    secrets: [
      tied,
      reader,
      untied,
      bobsKey.key,
      ticket,
      ...Object.values(people).flatMap(({ cookie }) => cookie.split('; ').map((pair) => pair.split('=')[1] ?? '')),
    ],
    learn,
    async isIntact() {
      const answers = await Promise.all([
        service.call('GET', `/api/projects/${projectId}/invitations`, { as: ada }),
        service.call('GET', `/api/projects/${projectId}`, { as: viewer }),
        service.call('GET', `/api/projects/${projectId}`, { as: editor }),
        service.call('GET', '/api/projects', { headers: { Cookie: mayfly.cookie } }),
        ...[tied, untied].map((raw) => service.call('GET', `/api/storage/usage?projectId=${projectId}`, { key: raw })),
      ]);
      return answers.every(({ status }) => status === 200);
    },
  };
}
