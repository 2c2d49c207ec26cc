import { createClient, type File } from '@cadiz/client';
import { expect } from 'vitest';

/** The owner of a service that nobody has used before. */
export interface Owner {
  /** Creates a project, and a key that is tied to it. */
  createProject(name: string): Promise<{ projectId: string; apiKey: string }>;
  /** Creates a key that is tied to no project. */
  createUntiedKey(): Promise<string>;
  /** Creates a key that is tied to a folder. */
  createFolderKey(projectId: string, folderId: string): Promise<string>;
}

/** @param url of the service itself, so that proxies in front of it do not see these requests */
export async function signUpOwner(url: string): Promise<Owner> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    headers.Cookie ??= answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    return (await answer.json()) as { id: string; key: string };
  };
  await post('/api/auth/sign-up/email', {
    name: 'Ada',
    email: 'ada@example.com',
    password: 'a password that nobody has',
  });
  return {
    async createProject(name) {
      const { id: projectId } = await post('/api/projects', { name });
      return { projectId, apiKey: (await post('/api/api-keys', { name, projectId })).key };
    },
    createUntiedKey: async () => (await post('/api/api-keys', { name: 'Untied', projectId: null })).key,
    createFolderKey: async (projectId, folderId) =>
      (await post('/api/api-keys', { name: 'Folder', projectId, folderId })).key,
  };
}

/** Creates the first account of a service. @returns the cookie of its session */
export async function signUp(url: string): Promise<string> {
  const body = JSON.stringify({ name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${url}/api/auth/sign-up/email`, { method: 'POST', headers, body });
  expect(answer.status).toBe(200);
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

/** All files of the project that a key is tied to. */
export async function listFiles(baseUrl: string, apiKey: string): Promise<File[]> {
  const files: File[] = [];
  for await (const file of createClient({ baseUrl, apiKey }).files.list()) files.push(file);
  return files;
}
