import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signUpOwner } from './client-account.ts';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

let settings: Settings;
let service: Service;
let apiKey: string;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-react-native-'));
  settings = await migratedSettings();
  service = await startService(settings);
  ({ apiKey } = await (await signUpOwner(service.url)).createProject('Phones'));
});
afterAll(async () => {
  if (service) await stopService(service);
  await cleanUp(settings);
  await rm(folder, { recursive: true, force: true });
});

const root = fileURLToPath(new URL('..', import.meta.url));

/** What React Native does not have. Only the bundle misses the first ones: the `fetch` of Node needs them. */
const lacking = ['ReadableStream', 'TransformStream', 'DOMException', 'crypto', 'indexedDB'];
const lackingFunctions = `
  delete AbortSignal.any;
  delete AbortSignal.timeout;
  delete AbortSignal.prototype.throwIfAborted;
  delete URLSearchParams.prototype.size;
  URLSearchParams.prototype.set = () => {
    throw new Error('URLSearchParams.set is not implemented');
  };`;

async function readSample(): Promise<string> {
  const page = await readFile(join(root, 'docs/sdk.md'), 'utf8');
  const [, sample = ''] = /^## React Native and older browsers\n.*?^```js\n(.*?)^```/ms.exec(page) ?? [];
  return sample;
}

/** Runs a program as Metro bundles it: with what the package has for neither Node nor browsers. */
async function runBundled(preparation: string, program: string): Promise<unknown> {
  const source = join(folder, 'source.js');
  const bundle = join(folder, 'bundle.mjs');
  await writeFile(
    source,
    `import { createClient } from '${join(root, 'packages/client/dist/index.js')}';
    ${lackingFunctions}
    ${preparation}
    const options = ${JSON.stringify({ baseUrl: service.url, apiKey, retries: 0 })};
    const outcome = (promise) => promise.catch(({ code, message }) => ({ code, message }));
    ${program}
    console.log(JSON.stringify(await run(createClient(options))));
    process.exit();`,
  );
  const built = await rolldown({
    input: source,
    platform: 'neutral',
    transform: { define: Object.fromEntries(lacking.map((name) => [name, 'undefined'])) },
  });
  await built.write({ file: bundle, format: 'esm' });
  const { stdout } = await promisify(execFile)(process.execPath, [bundle]);
  return JSON.parse(stdout);
}

test('the client names the function that is missing', async () => {
  const program = `const run = (cadiz) => outcome(cadiz.upload('x', { name: 'x.txt' }));`;
  expect(await runBundled('', program)).toEqual({
    code: 'network_failed',
    message: expect.stringContaining('AbortSignal.any is not a function'),
  });
});

test('with the sample of the documentation, it uploads, in parts too, lists, stops and deletes', async () => {
  const program = `
    async function run(cadiz) {
      const picture = await (await fetch('data:image/png;base64,iVBORw0KGgo=')).blob();
      const { id } = await cadiz.upload(picture, { name: 'picture.png', folder: 'phone' });
      const large = new Blob([new Uint8Array(6 * 1024 ** 2)]);
      await createClient({ ...options, partsFrom: 1 }).upload(large, { name: 'large.bin', partSize: 5 * 1024 ** 2 });
      const names = [];
      for await (const file of cadiz.files.list()) names.push(file.fileName);
      const controller = new AbortController();
      const stopped = outcome(cadiz.upload(large, { name: 'stopped.bin', signal: controller.signal }));
      controller.abort();
      await cadiz.files.delete(id);
      const uri = await outcome(cadiz.upload({ uri: 'file:///picture.png', name: 'a.png', type: 'image/png' }));
      const checksum = await outcome(cadiz.upload(large, { name: 'a.bin', checksum: true }));
      return { names: names.sort(), codes: [(await stopped).code, uri.code, checksum.code] };
    }`;
  expect(await runBundled(await readSample(), program)).toEqual({
    names: ['large.bin', 'picture.png'],
    codes: ['aborted', 'invalid_argument', 'file_unreadable'],
  });
});
