import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../service.ts';
import { isAsked } from './programs.ts';
import { packingMilliseconds, toSettings, useOnce } from './use-once.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-packages-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.runIf(isAsked)('the tarball with Node inside', () => {
  test(
    'has one folder, in which bin/cadiz serves with nothing else',
    async () => {
      const { stdout } = await run('npm', ['run', '--silent', 'pack:standalone'], { cwd: root });
      const place = join(folder, 'standalone');
      await mkdir(place);
      await run('tar', ['-xf', stdout.trim(), '-C', place]);
      const [top = '', ...others] = await readdir(place);
      expect([top, others]).toEqual([expect.stringMatching(/^cadiz-\d+\.\d+\.\d+-linux-/), []]);
      const [port, storePort] = await freePorts(2);
      // Nothing in PATH but what /bin/sh uses: neither Node nor npm.
      const env = { PATH: join(folder, 'programs'), HOME: place, ...toSettings(port, storePort) };
      await mkdir(env.PATH);
      for (const program of ['dirname', 'readlink']) await run('ln', ['-s', `/usr/bin/${program}`, env.PATH]);
      expect(await useOnce([join(place, top, 'bin/cadiz'), 'serve'], env, port ?? 0, place)).toBe(0);
    },
    packingMilliseconds,
  );
});
