import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type Answer, type CallOptions, type Person, startTestService, type TestService } from './service.ts';

/** A project with a member who may do everything in it, and shortcuts for what they do there. */
export interface Library {
  service: TestService;
  ada: Person;
  /** A key tied to the project, with every scope. */
  key: string;
  projectId: string;
  call(method: string, path: string, body?: unknown, caller?: CallOptions): Promise<Answer>;
  /** Creates a folder and returns its id. */
  folder(name?: string, parentId?: string | null): Promise<string>;
  /** A chain of this many nested folders, the outermost first. */
  chain(levels: number, parentId?: string | null): Promise<string[]>;
  /** Creates a file of this many bytes, and returns the answer of record. */
  file(folderId?: string | null, fileSize?: number, fileName?: string): Promise<Answer['body']>;
  /** Sorted ids of the listed files and folders, of the whole project or of one folder. */
  listed(folderId?: string): Promise<{ files: string[]; folders: string[] }>;
  /** The entries of the trash, the latest first. */
  trash(): Promise<Answer['body'][]>;
}

export async function openLibrary(service: TestService): Promise<Library> {
  const ada = await service.signUp();
  const projectId = await service.createProject(ada);
  const { key } = await service.createKey(ada, projectId);

  const call: Library['call'] = (method, path, body, caller = { key }) =>
    service.call(method, path, { ...caller, body });

  async function expectOk(asked: Promise<Answer>): Promise<Answer['body']> {
    const { status, body, text } = await asked;
    expect(status, text).toBe(200);
    return body;
  }

  const library: Library = {
    service,
    ada,
    key,
    projectId,
    call,
    folder: async (name = randomUUID(), parentId = null) =>
      (await expectOk(call('POST', '/api/storage/folders', { projectId, name, parentId }))).id,
    async chain(levels, parentId = null) {
      const ids: string[] = [];
      while (ids.length < levels) ids.push(await library.folder(`Level ${ids.length + 1}`, ids.at(-1) ?? parentId));
      return ids;
    },
    async file(folderId = null, fileSize = 5, fileName = 'photo.jpg') {
      const recording = await service.upload({ key }, projectId, Buffer.alloc(fileSize, 'x'), { folderId, fileName });
      return expectOk(call('POST', '/api/storage/record', recording));
    },
    async listed(folderId) {
      const place = folderId === undefined ? '' : `&folderId=${folderId}`;
      const { files, folders } = await expectOk(call('GET', `/api/storage/list?projectId=${projectId}${place}`));
      const ids = (rows: { id: string }[]) => rows.map(({ id }) => id).sort();
      return { files: ids(files), folders: ids(folders) };
    },
    trash: async () => (await expectOk(call('GET', `/api/storage/trash?projectId=${projectId}`))).entries,
  };
  return library;
}

export async function startLibrary(settings: Record<string, string> = {}): Promise<Library> {
  return openLibrary(await startTestService({ settings }));
}

/** Fails unless the answer is this problem; returns the answer. */
export async function expectProblem(asked: Promise<Answer> | Answer, status: number, code: string): Promise<Answer> {
  const answer = await asked;
  expect({ status: answer.status, code: answer.body.code }, answer.text).toEqual({ status, code });
  return answer;
}

/** How often each outcome occurred, for example `{ '200': 1, '409 folder_exists': 19 }`. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const outcome = status === 200 ? '200' : `${status} ${body.code}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}
