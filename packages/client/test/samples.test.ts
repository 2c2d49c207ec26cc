import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const pages = [
  'README.md',
  'docs/sdk.md',
  'docs/uploads-from-browsers.md',
  'docs/events.md',
  'packages/client/README.md',
];

/** What the samples leave to their readers. */
const surroundings = `
  declare const cadiz: import('@cadiz/client').Client;
  declare const isCadizError: typeof import('@cadiz/client').isCadizError;
  declare const [baseUrl, apiKey, id, cursor]: string[];
  declare const photo: Blob;
  declare const file: import('@cadiz/client').File & Blob;
  declare const files: FileList;
  declare const input: HTMLInputElement;
  declare const image: HTMLImageElement;
  declare const request: Request;
  declare let lastSeq: number;
  interface Project { id: string; name: string }
  declare function show(...shown: unknown[]): void;
  declare function askForMoreSpace(): void;
  declare function getTicket(): Promise<string>;
  declare function findUser(request: Request): Promise<{ id: string } | undefined>;
  declare function index(id: string, name: string): Promise<void>;
  declare function handle(event: import('@cadiz/client').Event): Promise<void>;
`;

const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable'],
  jsx: 'react-jsx',
  types: ['node'],
};

test('every TypeScript sample of the documentation compiles in strict mode', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-samples-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
    await writeFile(join(folder, 'surroundings.d.ts'), surroundings);
    let samples = 0;
    for (const page of pages) {
      const text = await readFile(join(root, page), 'utf8');
      for (const [, kind = '', sample = ''] of text.matchAll(/^```(tsx?)\n(.*?)^```/gms))
        await writeFile(join(folder, `${page.replaceAll('/', '-')}-${samples++}.${kind}`), `${sample}export {};\n`);
    }
    expect(samples).toBeGreaterThan(12);
    const compiled = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
    const { stdout } = await compiled.catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
