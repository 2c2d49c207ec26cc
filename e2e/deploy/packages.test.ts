import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { innermost, prepareImage, readImage } from '../../deploy/container/run-image.mjs';
import { signUpOwner } from '../client-account.ts';
import { freePorts } from '../service.ts';
import { hasPrograms, isAsked } from './programs.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
/** Packing installs every dependency, and compresses for tens of seconds. */
const packingMilliseconds = 600_000;
/** What the image must not exceed, compressed. */
const largestImageBytes = 75e6;

let folder: string;
const running = new Set<ChildProcess>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-packages-'));
  // The image is used by somebody else.
  await chmod(folder, 0o755);
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Starts a service, uploads one file, stops it with SIGTERM, and returns its exit code. */
async function useOnce([command = '', ...args]: string[], env: Record<string, string>, port: number, cwd: string) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text;
    });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await expect.poll(() => said + child.exitCode, { timeout: 120_000 }).toMatch(/Cadiz is ready at|^(?!.*null$)/s);
  expect(said).toContain('Cadiz is ready at');
  const baseUrl = `http://127.0.0.1:${port}`;
  const { apiKey } = await (await signUpOwner(baseUrl)).createProject('P');
  const file = await createClient({ baseUrl, apiKey }).upload(new File(['Cadiz'], 'a.txt', { type: 'text/plain' }));
  expect(file.fileSize).toBe(5);
  expect(await (await fetch(baseUrl, { headers: { accept: 'text/html' } })).text()).toContain('<title>Cadiz');
  process.kill(innermost(child.pid ?? 0), 'SIGTERM');
  const code = await ended;
  running.delete(child);
  return { code, said };
}

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
      const env = { PATH: join(folder, 'programs'), HOME: place, ...settings(port, storePort) };
      await mkdir(env.PATH);
      for (const program of ['dirname', 'readlink']) await run('ln', ['-s', `/usr/bin/${program}`, env.PATH]);
      const { code } = await useOnce([join(place, top, 'bin/cadiz'), 'serve'], env, port ?? 0, place);
      expect(code).toBe(0);
    },
    packingMilliseconds,
  );
});

const canBuild =
  isAsked && hasPrograms('the image', { bwrap: '--version', setpriv: '--version', 'dpkg-deb': '--version' });

describe.runIf(canBuild)('the image', () => {
  test(
    'is the same each time, small, and serves read-only, without a shell, as nobody',
    async () => {
      const [once, again] = [join(folder, 'once'), join(folder, 'again')];
      const digests = [await build(once), await build(again)];
      expect(digests[0]).toBe(digests[1]);
      const { layers } = readImage(once);
      expect(layers.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(largestImageBytes);

      const place = join(folder, 'place');
      await mkdir(place);
      const [port, storePort] = await freePorts(2);
      const command = prepareImage(once, place, { HOST: '127.0.0.1', ...settings(port, storePort) });
      for (const shell of ['bin', 'usr/bin', 'sbin'])
        expect(await readdir(join(place, 'image', shell)).catch(() => [])).toEqual([]);
      const { code } = await useOnce(command, { PATH: '/usr/bin:/bin' }, port ?? 0, folder);
      expect(code).toBe(0);
    },
    packingMilliseconds,
  );

  test('is what the Containerfile describes', async () => {
    const { config } = readImage(join(folder, 'once'));
    const lines = (await readFile(join(root, 'deploy/container/Containerfile'), 'utf8')).split('\n');
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
    const valuesOf = (name: string) =>
      last.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
    expect({
      User: valuesOf('USER').join(),
      Env: valuesOf('ENV'),
      Entrypoint: JSON.parse(valuesOf('ENTRYPOINT').join()),
      Cmd: JSON.parse(valuesOf('CMD').join()),
      WorkingDir: valuesOf('WORKDIR').join(),
      Volumes: Object.fromEntries(valuesOf('VOLUME').map((path) => [path, {}])),
      ExposedPorts: Object.fromEntries(
        valuesOf('EXPOSE')
          .join()
          .split(' ')
          .map((port) => [`${port}/tcp`, {}]),
      ),
      StopSignal: valuesOf('STOPSIGNAL').join(),
    }).toEqual(
      expect.objectContaining(Object.fromEntries(Object.entries(config).filter(([name]) => name !== 'Labels'))),
    );
  });
});

function settings(port = 0, storePort = 0): Record<string, string> {
  return { PORT: String(port), STORE_PORT: String(storePort), DRAIN_DELAY_SECONDS: '0' };
}

async function build(layout: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'deploy/container/build-image.mjs'), layout]);
  return stdout.split('\n')[0] ?? '';
}
