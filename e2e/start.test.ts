import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockFolder } from '@cadiz/store';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  cleanUp,
  embeddedSettings,
  freePorts,
  launchService,
  listen,
  runService,
  type Service,
  type Settings,
  startService,
  stopService,
} from './service.ts';

let settings: Settings = {};
beforeEach(async () => {
  settings = await embeddedSettings();
});
afterEach(() => cleanUp(settings));

describe('a start that cannot succeed says why in one sentence', () => {
  it.each(['PORT', 'STORE_PORT', 'METRICS_PORT'])('%s is in use: nothing has been created', async (name) => {
    const { port, close } = await listen(0);
    try {
      expect(await refusal({ ...settings, [name]: String(port) })).toBe(
        `Port ${port} is in use by another program: stop it, or set ${name} to another port.`,
      );
      expect(existsSync(settings.CADIZ_DATA_DIR ?? '')).toBe(false);
    } finally {
      await close();
    }
  });

  it('so few files may be open that the program cannot be loaded', async () => {
    const under = ['bash', '-c', 'ulimit -Sn 200 && ulimit -Hn 200 && exec "$@"', 'bash'];
    expect(await runService(settings, { under })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'Cadiz could not be loaded: this process may have only 200 files open at once. Allow it 1024 or more (ulimit -n, or LimitNOFILE= for systemd).\n',
    });
  });

  it('another process holds the data folder', async () => {
    const service = await startService(settings);
    const [port, storePort] = await freePorts(2);
    const said = await refusal({ ...settings, PORT: String(port), STORE_PORT: String(storePort) });
    expect(said).toContain(settings.CADIZ_DATA_DIR);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect((await stopService(service)).code).toBe(0);
  });

  it('another process has the database only, as one that starts does: the object store is left alone', async () => {
    const folder = join(settings.CADIZ_DATA_DIR ?? '', 'database');
    await mkdir(folder, { recursive: true });
    const lock = lockFolder(folder);
    onTestFinished(() => lock.release());
    expect(await refusal(settings)).toBe(
      `The database folder ${folder} is in use by process ${process.pid}: stop it first, or choose another folder.`,
    );
    expect(existsSync(join(settings.CADIZ_DATA_DIR ?? '', 'objects'))).toBe(false);
  });

  it('the data folder cannot be written', async () => {
    // Permission bits do not restrict root; a path below a file stops everyone.
    const file = join(dirname(settings.CADIZ_DATA_DIR ?? ''), 'file');
    await writeFile(file, '');
    expect(await refusal({ ...settings, CADIZ_DATA_DIR: join(file, 'data') })).toContain(file);
  });

  it('the data folder cannot be created, where Node would retry for ever', async () => {
    expect(await refusal({ ...settings, CADIZ_DATA_DIR: '/proc/cadiz/data' })).toMatch(
      /^The folder \/proc\/cadiz cannot be made there \(ENOENT\)/,
    );
  });

  it('the object store does not answer', async () => {
    const { port, close } = await listen(0);
    await close();
    const s3 = {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'b',
      S3_ACCESS_KEY_ID: 'i',
      S3_SECRET_ACCESS_KEY: 's',
    };
    expect(await refusal({ ...settings, ...s3 })).toMatch(
      /^The object store at http:\S+ does not answer: nothing listens there\. Check S3_ENDPOINT, and that the store is running\.$/,
    );
  });

  it('a setting is wrong', async () => {
    expect(await refusal({ ...settings, PORT: 'eighty' })).toMatch(/\bPORT\b/);
  });

  it('several settings are wrong: all are reported at once', async () => {
    const wrong = { PORT: '70000', CADIZ_SIGN_UP: 'perhaps', PRESIGN_TTL_SECONDS: '-1', DATABASE_URL: 'mysql://x/y' };
    const { code, stderr } = await runService({ ...settings, ...wrong });
    expect(code).toBe(1);
    for (const name of Object.keys(wrong)) expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('the settings', () => {
  /** The output of a start with these lines in `.env`, on a port that cannot work. */
  async function start(file: string | Buffer, environment: Settings = {}, mode = 0o600) {
    const cwd = dirname(settings.CADIZ_DATA_DIR ?? '');
    await writeFile(join(cwd, '.env'), file);
    await chmod(join(cwd, '.env'), mode);
    return (await runService({ ...settings, PORT: '0', ...environment }, { cwd })).stderr.trim().split('\n');
  }
  const port = expect.stringMatching(/^PORT must be/);

  it('that are misspelt are reported with the intended name', async () => {
    expect(await start('S3_REGOIN=eu-west-1\nTZ=UTC', { CADIZ_DATADIR: '/data', SMTP_HOST: 'mail' })).toEqual([
      'Warning: SMTP_HOST is not a setting of Cadiz: docs/settings.md lists them all.',
      port,
      'CADIZ_DATADIR is not a setting of Cadiz: did you mean CADIZ_DATA_DIR?',
      'S3_REGOIN in .env is not a setting of Cadiz: did you mean S3_REGION?',
    ]);
  });

  it('in a file that others can read are reported with the command that protects it', async () => {
    const path = join(dirname(settings.CADIZ_DATA_DIR ?? ''), '.env');
    for (const mode of [0o640, 0o604]) {
      expect(await start('LOG_LEVEL=warn', {}, mode)).toEqual([
        expect.stringMatching(`^Warning: .* chmod 600 ${path}$`),
        port,
      ]);
    }
    expect(await start('LOG_LEVEL=warn')).toEqual([port]);
  });

  it('in a file count if the variable of the environment is empty', async () => {
    expect(await start('LOG_LEVEL=noisy', { LOG_LEVEL: '' })).toEqual([
      port,
      expect.stringMatching(/^LOG_LEVEL must be/),
    ]);
    expect(await start('LOG_LEVEL=noisy', { LOG_LEVEL: 'warn' })).toEqual([port]);
  });

  it('in a file count with a byte order mark, too, and with the ends of lines of Windows', async () => {
    expect(await start('\ufeffLOG_LEVEL=noisy\r\nIMAGES=no\r\n')).toEqual([
      port,
      expect.stringMatching(/^IMAGES must be .* and is "no"\.$/),
      expect.stringMatching(/^LOG_LEVEL must be .* and is "noisy"\.$/),
    ]);
  });

  it('in a file do not include a line that is no assignment, which is reported and takes none with it', async () => {
    const path = join(dirname(settings.CADIZ_DATA_DIR ?? ''), '.env');
    const certificate = 'CERTIFICATE="-----BEGIN\nMIIB\n-----END"';
    const file = `# Ours\n\nOur settings\nLOG_LEVEL=noisy\n${certificate}\nLOG_SAMPLE 10\nexport IMAGES=no # or on\nPASSWORD`;
    const others = [3, 8, 10].map(
      (line) => `Warning: Line ${line} of ${path} is ignored: it is neither NAME=value nor a comment.`,
    );
    expect(await start(file)).toEqual([
      ...others,
      port,
      expect.stringMatching(/^IMAGES must be .* and is "no"\.$/),
      expect.stringMatching(/^LOG_LEVEL must be .* and is "noisy"\.$/),
    ]);
  });

  it.each([
    ['UTF-16', Buffer.from('LOG_LEVEL=warn\n', 'utf16le')],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffLOG_LEVEL=warn\n', 'utf16le')],
    ['Latin-1', Buffer.from('SMTP_FROM=Müller <a@example.com>\n', 'latin1')],
  ])('in a file in another encoding, %s, stop the start', async (_, file) => {
    expect(await start(file)).toEqual([expect.stringMatching(/^The settings in .*\.env are not text in UTF-8: .*\.$/)]);
  });

  it('in a file that cannot be read stop the start', async () => {
    const cwd = dirname(settings.CADIZ_DATA_DIR ?? '');
    await mkdir(join(cwd, '.env'));
    const { code, stderr } = await runService(settings, { cwd });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^The settings in .*\.env cannot be read \(EISDIR\).*\.\n$/),
    });
  });
});

describe('a Node that is too old', () => {
  const programs = ['main.js', '../../cli/dist/main.js', '../../store/dist/process/cli.js'];
  const withStart = [...programs, '../../../scripts/start.mjs'];
  // 21 and 22.0 lack functions that 20.19 has, and Vite runs on 22.12.
  const versions = ['18.20.8', '20.18.3', '21.7.3', '22.0.0', '22.11.0'];

  it.each(withStart.flatMap((program) => versions.map((version) => [program, version])))(
    'is reported by %s: %s',
    async (program, version) => {
      const code = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
      const node = ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
      expect(await runService({}, { program, node })).toEqual({
        code: 1,
        stdout: '',
        stderr: `Cadiz needs Node 20.19 or newer (not 21, nor 22 before 22.12), and this is Node ${version}.\n`,
      });
    },
  );

  it.each(programs)('is reported before anything of %s is loaded', async (program) => {
    const text = await readFile(new URL(`../packages/server/dist/${program}`, import.meta.url), 'utf8');
    const imported = [...text.matchAll(/^(?:import|export)\b[^(\n]*'(.*)'/gm)].map(([, path = '']) => basename(path));
    expect(imported).toEqual(['require-node.js']);
  });
});

describe('a log that cannot be written', () => {
  const unwritable = [
    ['on a full disk', 'exec "$@" 2>/dev/full', 'Warning: The log cannot be written (ENOSPC'],
    ['like the output, to a reader that has ended', 'exec "$@" > >(head -n 2) 2> >(head -n 1)', ''],
  ];
  it.each(unwritable)('%s, ends nothing', async (_, script, warning) => {
    const verbose = { ...settings, LOG_LEVEL: 'debug' };
    const service = await startService(verbose, { under: ['bash', '-c', script, 'bash'] });
    for (let round = 0; round < 10; round += 1) await fetch(`${service.url}/api/projects`);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    const { code, stdout } = await stopService(service);
    expect(code).toBe(0);
    expect(stdout).toContain(warning);
    expect(stdout.match(/The log cannot be written/g) ?? []).not.toHaveLength(2);
  });
});

describe('a stop', () => {
  const stops: [string, NodeJS.Signals[]][] = [
    ['SIGTERM', ['SIGTERM']],
    ['Ctrl-C under npm, which forwards the signal that the terminal sends anyway', ['SIGINT', 'SIGINT']],
  ];
  it.each(['SIGTERM', 'SIGINT'] as const)('by %s before the service is ready ends it cleanly', async (signal) => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { exit, signal: send } = launchService({
      ...settings,
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'b',
      S3_ACCESS_KEY_ID: 'i',
      S3_SECRET_ACCESS_KEY: 's',
    });
    await once(silent, 'connection');
    send(signal);
    expect(await exit).toEqual({ code: 0, stdout: '\nStopped before it was ready.\n', stderr: '' });
  });

  it('is not meant by SIGHUP without a terminal, as under nohup', async () => {
    const service = await startService(settings);
    service.signal('SIGHUP');
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect((await stopService(service)).code).toBe(0);
  });

  it('is not meant by SIGUSR1, which opens no debugger either', async () => {
    const service = await startService(settings);
    service.signal('SIGUSR1');
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    const { code, stderr } = await stopService(service);
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/debugger|inspector/i);
  });

  it('is what a terminal asks for that is closed', async () => {
    const inTerminal = 'printf -v command "%q " "$@"; exec script -qefc "exec $command" /dev/null';
    const service = await startService(settings, { under: ['bash', '-c', inTerminal, 'bash'] });
    const pid = Number(await readFile(join(settings.CADIZ_DATA_DIR ?? '', 'database/lock'), 'utf8'));
    process.kill(pid, 'SIGHUP');
    expect(await service.exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/Stopping: .*Stopped\.\s+$/s) });
  });

  it('by SIGTERM while the service is still loaded ends it cleanly, too', async () => {
    const reached = join(dirname(settings.CADIZ_DATA_DIR ?? ''), 'reached');
    // What begins to run instead of the program, and takes long.
    const slow = `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(reached)}, '');
      await new Promise((resolve) => setTimeout(resolve, 600_000));`;
    const load = `export const load = (url, context, next) => url.endsWith('/start/program.js')
      ? { format: 'module', source: ${JSON.stringify(slow)}, shortCircuit: true }
      : next(url, context);`;
    const toUrl = (source: string) => `data:text/javascript,${encodeURIComponent(source)}`;
    const register = `import { register } from 'node:module'; register(${JSON.stringify(toUrl(load))})`;
    const { exit, signal } = launchService(settings, { node: ['--no-deprecation', '--import', toUrl(register)] });
    await expect.poll(() => existsSync(reached), { timeout: 30_000 }).toBe(true);
    signal('SIGTERM');
    expect(await exit).toEqual({ code: 0, stdout: '\nStopped before it was ready.\n', stderr: '' });
  });

  it.each(stops)('by %s lets an upload finish, and loses nothing', async (_name, signals) => {
    let service = await startService(settings);
    const { bearer, projectId } = await openProject(service);
    const bytes = Buffer.alloc(3_000_000, 'cadiz');
    const file = { projectId, fileName: 'slow.bin', fileSize: bytes.length, mimeType: 'text/plain', folderId: null };
    const { presignedUrl, storeKey } = await call(service, 'POST', '/api/storage/presign', file, bearer);

    const upload = await openUpload(presignedUrl, bytes.length);
    upload.write(bytes.subarray(0, 1_000_000));
    for (const signal of signals) {
      service.signal(signal);
      await delay(20); // two of a kind at the same moment are one to the kernel
    }
    await untilRefusing(service);
    expect(await finish(upload, bytes.subarray(1_000_000))).toBe(200);
    const exit = await service.exit;
    expect(exit.code, exit.stderr).toBe(0);

    service = await startService(settings);
    const recorded = await call(service, 'POST', '/api/storage/record', { ...file, storeKey }, bearer);
    expect((await stopService(service)).code).toBe(0);

    service = await startService(settings);
    const list = await call(service, 'GET', `/api/storage/list?projectId=${projectId}`, undefined, bearer);
    // The service checks the contents on its own, sooner or later.
    const { contentCheck: _, ...facts } = recorded;
    expect(list.files).toEqual([expect.objectContaining(facts)]);
    expect((await stopService(service)).code).toBe(0);
  });
});

/** Starts, which must fail: the exit code is 1, and stderr has exactly one line besides informational log lines. */
async function refusal(settings: Settings): Promise<string> {
  const { code, stderr } = await runService(settings);
  const [sentence = '', ...more] = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":30,'));
  expect({ code, more }, stderr).toEqual({ code: 1, more: [] });
  return sentence;
}

type Answer = {
  id: string;
  key: string;
  presignedUrl: string;
  storeKey: string;
  contentCheck: string;
  files: unknown[];
};
type Headers = Record<string, string>;

async function openProject(service: Service): Promise<{ bearer: Headers; projectId: string }> {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' };
  const signedUp = await send(service, 'POST', '/api/auth/sign-up/email', account);
  const cookie = {
    Cookie: signedUp.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; '),
  };
  const { id: projectId } = await call(service, 'POST', '/api/projects', { name: 'Drain' }, cookie);
  const { key } = await call(service, 'POST', '/api/api-keys', { name: 'drain', projectId }, cookie);
  return { bearer: { Authorization: `Bearer ${key}` }, projectId };
}

function send(
  service: Service,
  method: string,
  path: string,
  body?: unknown,
  headers: Headers = {},
): Promise<Response> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(service.url + path, { method, headers: { 'Content-Type': 'application/json', ...headers }, ...json });
}

async function call(...args: Parameters<typeof send>): Promise<Answer> {
  const response = await send(...args);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text);
}

/** An upload that the store has accepted and whose body has not begun. */
function openUpload(url: string, size: number): Promise<ClientRequest> {
  const upload = request(url, { method: 'PUT', headers: { 'Content-Length': size, Expect: '100-continue' } });
  return new Promise((resolve, reject) => {
    upload.once('error', reject);
    upload.once('response', (response) => reject(new Error(`refused with ${response.statusCode}`)));
    upload.once('continue', () => {
      upload.removeAllListeners('response');
      resolve(upload);
    });
    upload.flushHeaders();
  });
}

/** Sends the rest; returns the answer's status, or undefined if the connection was cut. */
function finish(upload: ClientRequest, rest: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    upload.once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    upload.on('error', () => resolve(undefined)).once('close', () => resolve(undefined));
    if (upload.destroyed) resolve(undefined);
    upload.end(rest);
  });
}

/** Waits until the service has noticed the signal: no longer ready, or no longer listening. */
async function untilRefusing(service: Service): Promise<void> {
  while ((await fetch(`${service.url}/readyz`).catch(() => undefined))?.status === 200) await delay(20);
}
