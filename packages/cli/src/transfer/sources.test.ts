import { createClient } from '@cadiz/client';
import { expect, test } from 'vitest';
import { readThere } from './sources.ts';

test('a folder can hold more files than a call takes arguments', async () => {
  const many = 150_000;
  const folder = { id: 'all', name: 'all', parentId: null };
  const page = (folders: unknown[], files: unknown[]) =>
    Response.json({ folders, files, breadcrumbs: [], nextCursor: null });
  const client = createClient({
    baseUrl: 'http://cadiz.test',
    apiKey: 'cz_test',
    projectId: 'main',
    fetch: async (input) => {
      const asked = new URL(input instanceof Request ? input.url : input).searchParams;
      if (asked.get('search')) return page([folder], []);
      return page(
        [],
        Array.from({ length: many }, (_, at) => ({ id: `${at}`, fileName: `${at}` })),
      );
    },
  });
  const there = await readThere(client, null, { files: [], folders: ['all'], allFolders: [], leftOut: [] });
  expect(there.files.size).toBe(many);
});
