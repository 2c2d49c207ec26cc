import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const tool = (name: string) => join(root, 'node_modules/.bin', name);

let folder: string;
let tarball: string;
/** A project of somebody else that has installed the package and nothing more. */
let app: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-package-'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: join(root, 'packages/client') });
  const [name = ''] = await readdir(folder);
  tarball = join(folder, name);
  app = join(folder, 'app');
  await mkdir(app);
  await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', '--offline', tarball], { cwd: app });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('is in order for publint and for attw', async () => {
  await run(tool('publint'), ['run', '--strict', tarball]);
  await run(tool('attw'), [tarball, '--profile', 'esm-only']);
});

test('has no dependencies', async () => {
  expect((await readdir(join(app, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual(['@cadiz']);
});

test.each([
  [
    'import',
    "import { createClient, isCadizError } from '@cadiz/client'; import { openFile } from '@cadiz/client/node'; import { createUploader } from '@cadiz/client/upload';",
  ],
  [
    'require',
    "const { createClient, isCadizError } = require('@cadiz/client'), { openFile } = require('@cadiz/client/node'), { createUploader } = require('@cadiz/client/upload');",
  ],
])('can be loaded with %s, without a warning', async (how, load) => {
  const script = join(app, how === 'import' ? 'app.mjs' : 'app.cjs');
  const use = `${load}
    const options = { baseUrl: 'http://127.0.0.1:9', apiKey: 'cz_live_x', projectId: 'p', retries: 0 };
    for (const { upload } of [createClient(options), createUploader(options)])
      upload('x', { name: 'x' }).catch((error) => console.log(isCadizError(error), error.code, typeof openFile));`;
  await writeFile(script, use);
  const { stdout, stderr } = await run(process.execPath, [script], { env: { PATH: process.env.PATH ?? '' } });
  expect(stdout).toBe('true network_failed function\n'.repeat(2));
  // Node 20 and 22 say that `require` of an ES module is an experiment.
  expect(stderr.replace(/^\(node:\d+\) ExperimentalWarning: CommonJS module .*\n\(Use .*\n/, '')).toBe('');
});

test('what others export of it has declarations', async () => {
  const project = join(app, 'declared');
  await mkdir(project);
  const code = `import { createClient, createTicketHandler } from '@cadiz/client';
    import { openFile, resumeFile } from '@cadiz/client/node';
    import { createQueue, createUploader } from '@cadiz/client/upload';
    import { verifyWebhook } from '@cadiz/client/webhooks';
    const options = { baseUrl: 'https://media.example.com', apiKey: 'cz_live_x' };
    export const cadiz = createClient(options);
    export const { files, folders, trash, links, tickets, keys, uploads, operations, events, request } = cadiz;
    export const { page, list, move, deleteMany, restoreMany, urls, image } = files;
    export const created = () => events.follow({ types: ['file.created'] });
    export const handler = createTicketHandler({ ...options, authorize: () => null });
    export const uploader = createUploader(options);
    export const queue = createQueue(uploader);
    export const local = [openFile, resumeFile, verifyWebhook] as const;`;
  await writeFile(join(project, 'declared.mts'), code);
  const options = '--declaration --emitDeclarationOnly --module nodenext --target es2023 --ignoreConfig'.split(' ');
  const { stdout } = await run(tool('tsc'), [...options, 'declared.mts'], { cwd: project }).catch(
    (failed: { stdout: string }) => failed,
  );
  expect(stdout).toBe('');
});

/** What a page loads, in bytes after gzip. */
async function sizeOf(code: string): Promise<number> {
  const entry = '\0entry';
  const importer = join(app, 'page.js');
  const built = await rolldown({
    input: entry,
    platform: 'browser',
    external: ['react'],
    plugins: [
      {
        name: 'entry',
        resolveId(id, from) {
          if (id === entry) return id;
          return from === entry ? this.resolve(id, importer) : null;
        },
        load: (id) => (id === entry ? code : null),
      },
    ],
  });
  const { output } = await built.generate({ minify: true, comments: false });
  return gzipSync(output[0].code, { level: 9 }).length;
}

test.each([
  [
    'one upload',
    5557,
    `import { createUploader, isCadizError } from '@cadiz/client/upload';
    export const upload = (options) => createUploader(options).upload;
    export { isCadizError };`,
  ],
  ['uploads in a queue', 7079, `export { createUploader, createQueue, isCadizError } from '@cadiz/client/upload';`],
  ['everything', 8850, `export { createClient, CadizError, isCadizError } from '@cadiz/client';`],
  ['webhooks', 1100, `export { verifyWebhook } from '@cadiz/client/webhooks';`],
  ['the hooks', 1500, `export { useUploads, useFiles } from '@cadiz/client/react';`],
])('stays small: %s', async (_, limit, code) => {
  expect(await sizeOf(code)).toBeLessThanOrEqual(limit);
});
