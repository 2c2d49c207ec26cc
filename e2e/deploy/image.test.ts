import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareImage, readImage } from '../../deploy/container/run-image.mjs';
import { freePorts } from '../service.ts';
import { hasPrograms, isAsked } from './programs.ts';
import { packingMilliseconds, toSettings, useOnce } from './use-once.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
/** What the image must not exceed, compressed. */
const largestImageBytes = 75e6;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-packages-'));
  // The image is used by somebody else.
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const canBuild =
  isAsked && hasPrograms('the image', { bwrap: '--version', setpriv: '--version', 'dpkg-deb': '--version' });

describe.runIf(canBuild)('the image', () => {
  test(
    'is the same each time, small, and serves read-only, without a shell, as nobody',
    async () => {
      const [once, again] = [join(folder, 'once'), join(folder, 'again')];
      const digests = await Promise.all([build(once), build(again)]);
      expect(digests[0]).toBe(digests[1]);
      const { layers } = readImage(once);
      expect(layers.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(largestImageBytes);

      const place = join(folder, 'place');
      await mkdir(place);
      const [port, storePort] = await freePorts(2);
      const command = prepareImage(once, place, { HOST: '127.0.0.1', ...toSettings(port, storePort) });
      for (const shell of ['bin', 'usr/bin', 'sbin'])
        expect(await readdir(join(place, 'image', shell)).catch(() => [])).toEqual([]);
      expect(await useOnce(command, { PATH: '/usr/bin:/bin' }, port ?? 0, folder)).toBe(0);
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

async function build(layout: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'deploy/container/build-image.mjs'), layout]);
  return stdout.split('\n')[0] ?? '';
}
