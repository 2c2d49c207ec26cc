import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createPresigner } from '@cadiz/sigv4';
import { afterAll, expect, test } from 'vitest';
import { keys, listFiles, newFolder, region, send, startStore } from '../../test/running-store.ts';
import { runCli, startProcess } from '../../test/store-process.ts';
import { StoreFolderInUse } from '../disk/lock.ts';

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a second store on the same folder is refused, in another process and in this one', async () => {
  const running = await startProcess(folder);
  const second = await runCli(['--data', folder, '--port', '0']);
  expect(second).toMatchObject({
    code: 1,
    output: expect.stringContaining(`in use by process ${running.process.pid}`),
  });
  await expect(startStore({ dataDir: folder })).rejects.toThrow(StoreFolderInUse);
  expect(await running.end('SIGKILL')).toBe('SIGKILL');

  const mine = await startStore({ dataDir: folder });
  await expect(startStore({ dataDir: folder })).rejects.toThrow(StoreFolderInUse);
  await mine.close();
  expect(listFiles(folder)).toEqual([]);
});

test('every mistake ends with one sentence and exit code 1', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const dangling = join(folder, 'dangling');
  symlinkSync(join(folder, 'nowhere'), dangling);
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = taken.address();
  const port = typeof address === 'object' && address ? String(address.port) : '';
  const data = join(folder, 'data');
  const impossible = existsSync('/proc/self') ? ['/proc/cadiz', '/proc/cadiz/data'] : [];
  const cases: [string[], Record<string, string>, RegExp][] = [
    [[], {}, /--data DIR/],
    [['--data', data, '--port', 'http'], {}, /--port must be a number/],
    [['--data', data, '--port', port], {}, /^Port \d+ on 127.0.0.1 is in use/],
    [
      ['--data', join(file, 'under')],
      {},
      /cannot be created \(ENOTDIR\): something that is not a folder is in the way/,
    ],
    [['--data', file], {}, /cannot be created \(EEXIST\): something that is not a folder is in the way/],
    [['--data', dangling], {}, /cannot be created \(EEXIST\): something that is not a folder is in the way/],
    ...impossible.map((at): [string[], Record<string, string>, RegExp] => [
      ['--data', at],
      {},
      /^The data folder \/proc\/cadiz.* cannot be created \(ENOENT\): its file system does not allow folders/,
    ]),
    [['--data', data, '--prot', '1'], {}, /--prot/],
    [['--data', data, '--presigned-overwrite', 'no'], {}, /--presigned-overwrite must be allow or deny/],
    [['--data', data], { STORE_SECRET_ACCESS_KEY: '' }, /STORE_SECRET_ACCESS_KEY/],
  ];
  for (const [args, env, sentence] of cases) {
    const { code, output } = await runCli(args, env);
    expect(output).toMatch(sentence);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  }
  taken.close();
});

test('--presigned-overwrite deny lets an address write once', async () => {
  const running = await startProcess(folder, { args: ['--presigned-overwrite', 'deny'] });
  const presign = createPresigner({ ...keys, region, endpoint: running.endpoint });
  const url = (key: string) => presign({ method: 'PUT', bucket: 'sealed', key, expiresInSeconds: 60, now: Date.now() });
  await send('PUT', url(''));
  expect((await send('PUT', url('a'), { body: 'one' })).status).toBe(200);
  expect((await send('PUT', url('a'), { body: 'two' })).status).toBe(412);
  expect(await running.end('SIGTERM')).toBe(0);
});

test('stops on SIGTERM and SIGINT with exit code 0', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const running = await startProcess(folder);
    expect(await running.end(signal)).toBe(0);
  }
});
