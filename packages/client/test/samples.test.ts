import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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
  declare const { createClient, createTicketHandler, imageUrl, isCadizError, srcset }: typeof import('@cadiz/client');
  declare const { openFile, resumeFile }: typeof import('@cadiz/client/node');
  declare const { useFiles, useUploads }: typeof import('@cadiz/client/react');
  declare const { createQueue, createUploader }: typeof import('@cadiz/client/upload');
  declare const { verifyWebhook }: typeof import('@cadiz/client/webhooks');
  declare const uploader: import('@cadiz/client/upload').Uploader;
  declare const [baseUrl, apiKey, projectId, id, uploadId, cursor]: string[];
  declare const ids: string[];
  declare const error: unknown;
  declare const [folder, link, ticket, operation, a, b]: { id: string; url: string }[];
  declare const [photo, video]: Blob[];
  declare const file: import('@cadiz/client').File & Blob;
  declare const files: FileList;
  declare const input: HTMLInputElement;
  declare const [image, img]: HTMLImageElement[];
  declare const request: Request;
  declare let lastSeq: number;
  interface Project { id: string; name: string }
  declare function show(...shown: unknown[]): void;
  declare function askForMoreSpace(): void;
  declare function tryAgainLater(): void;
  declare function getTicket(): Promise<string>;
  declare function findUser(request: Request): Promise<{ id: string } | undefined>;
  declare function index(of: unknown, name?: string): Promise<void>;
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

const inPage = /^```(?<kind>tsx?)\n(?<code>.*?)^```/gms;
const inDocstring = /^ *\* @example\n(?<code>(?: *\* (?!@).*\n)+)/gm;

/** Every sample, and the kind of file that it needs, by what to call it. */
async function* findSamples(): AsyncGenerator<{ name: string; kind: string; code: string }> {
  const sources = (await readdir(join(root, 'packages/client/src'), { recursive: true }))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `packages/client/src/${name}`);
  for (const path of [...pages, ...sources]) {
    const text = await readFile(join(root, path), 'utf8');
    const found = text.matchAll(path.endsWith('.ts') ? inDocstring : inPage);
    for (const { index, groups: { kind = 'tsx', code = '' } = {} } of found) {
      const line = text.slice(0, index).split('\n').length;
      yield { name: `${path.replaceAll('/', '-')}-${line}`, kind, code: code.replaceAll(/^ *\* /gm, '') };
    }
  }
}

test('every TypeScript sample of the documentation and the docstrings compiles in strict mode', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-samples-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
    await writeFile(join(folder, 'surroundings.d.ts'), surroundings);
    let samples = 0;
    for await (const { name, kind, code } of findSamples()) {
      await writeFile(join(folder, `${name}.${kind}`), `${code}export {};\n`);
      samples += 1;
    }
    expect(samples).toBeGreaterThan(70);
    const compiled = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
    const { stdout } = await compiled.catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
