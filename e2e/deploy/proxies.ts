import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../service.ts';

const run = promisify(execFile);

/** The hosts in the configurations of `deploy/`. */
export const hosts = { cadiz: 'cadiz.example.com', objects: 'objects.example.com' } as const;

/** What makes a service believe that it is behind one of these proxies. */
export const behindProxy = {
  CADIZ_PUBLIC_URL: `https://${hosts.cadiz}`,
  S3_PUBLIC_ENDPOINT: `https://${hosts.objects}`,
  TRUSTED_PROXIES: '127.0.0.1',
};

export type ProxyName = 'haproxy' | 'nginx' | 'apache' | 'caddy';

export interface RunningProxy {
  httpPort: number;
  httpsPort: number;
  /** The certificate of both hosts, in PEM. */
  ca: string;
  /** Everything that it has written. */
  output(): string;
  close(): Promise<void>;
}

/** Where the servers behind a proxy listen, on loopback. */
export interface Behind {
  services: readonly number[];
  store: number;
}

/**
 * Starts a proxy with its file in `deploy/`, in which only ports and paths are replaced.
 * @param folder for the certificate and the file; must exist
 */
export async function startProxy(name: ProxyName, folder: string, behind: Behind): Promise<RunningProxy> {
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  const certificate = await makeCertificate(folder);
  const file = join(folder, name);
  const toText = { haproxy: toHaproxy, nginx: toNginx, apache: toApache, caddy: toCaddy }[name];
  await writeFile(file, toText(folder, { ...behind, httpPort, httpsPort }));
  const [program, ...args] = {
    haproxy: ['haproxy', '-db', '-f', file] as const,
    nginx: ['nginx', '-p', folder, '-c', file, '-g', 'daemon off;'] as const,
    apache: ['apache2', '-D', 'FOREGROUND', '-f', file] as const,
    caddy: ['caddy', 'run', '--adapter', 'caddyfile', '--config', file] as const,
  }[name];
  // Caddy keeps files of its own.
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await Promise.race([
    untilListening(httpsPort),
    ended.then(() => Promise.reject(new Error(`${name} ended before it listened:\n${output}`))),
  ]);
  return {
    httpPort,
    httpsPort,
    ca: await readFile(certificate, 'utf8'),
    output: () => output + (hasLogFile(name) ? readFileSync(join(folder, 'access.log'), 'utf8') : ''),
    async close() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Whether it writes about requests to a file, and not to its output. */
function hasLogFile(name: ProxyName): boolean {
  return name === 'nginx' || name === 'apache';
}

async function makeCertificate(folder: string): Promise<string> {
  const [certificate, key] = [join(folder, 'cadiz.crt'), join(folder, 'cadiz.key')];
  const names = Object.values(hosts).map((host) => `DNS:${host}`);
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${hosts.cadiz}`, '-addext', `subjectAltName=${names.join(',')}`];
  await run('openssl', ['req', ...options, ...subject, '-keyout', key, '-out', certificate]);
  await writeFile(join(folder, 'cadiz.pem'), (await readFile(certificate, 'utf8')) + (await readFile(key, 'utf8')));
  await chmod(folder, 0o755);
  return certificate;
}

interface Ports extends Behind {
  httpPort: number;
  httpsPort: number;
}

function toHaproxy(folder: string, { httpPort, httpsPort, services, store }: Ports): string {
  const lines = services.map((port, index) => `    server cadiz${index + 1} 127.0.0.1:${port}\n`);
  return readDeployed('haproxy/haproxy.cfg', [
    ['bind :80', `bind 127.0.0.1:${httpPort}`],
    ['bind :443', `bind 127.0.0.1:${httpsPort}`],
    ['/etc/haproxy/cadiz.pem', join(folder, 'cadiz.pem')],
    [/(?: {4}server cadiz\d .+\n)+/, lines.join('')],
    ['127.0.0.1:4001', `127.0.0.1:${store}`],
  ]);
}

function toNginx(folder: string, { httpPort, httpsPort, services, store }: Ports): string {
  return readDeployed('nginx/nginx.conf', [
    ['listen 80', `listen 127.0.0.1:${httpPort}`],
    ['listen 443', `listen 127.0.0.1:${httpsPort}`],
    ['/run/nginx.pid', join(folder, 'nginx.pid')],
    ['/var/log/nginx/cadiz.log', join(folder, 'access.log')],
    ['/etc/nginx/cadiz.crt', join(folder, 'cadiz.crt')],
    ['/etc/nginx/cadiz.key', join(folder, 'cadiz.key')],
    ['127.0.0.1:4000', `127.0.0.1:${services[0]}`],
    ['127.0.0.1:4001', `127.0.0.1:${store}`],
  ]);
}

/** The modules that the file asks for, and what Debian's own configuration sets. */
function toApache(folder: string, { httpPort, httpsPort, services, store }: Ports): string {
  const needed = ['headers', 'http2', 'macro', 'proxy', 'proxy_http', 'ssl'];
  const ownModules = [
    'mpm_event',
    'authz_core',
    'alias',
    'env',
    'filter',
    'deflate',
    'mime',
    'reqtimeout',
    'socache_shmcb',
  ];
  const lines = [...ownModules, ...needed].map(
    (module) => `LoadModule ${module}_module /usr/lib/apache2/modules/mod_${module}.so`,
  );
  const paths = [
    `PidFile ${join(folder, 'apache.pid')}`,
    `ErrorLog ${join(folder, 'access.log')}`,
    'TypesConfig /etc/mime.types',
  ];
  const people = ['User www-data', 'Group www-data', 'ServerName localhost'];
  const ports = [httpPort, httpsPort].map((port) => `Listen 127.0.0.1:${port}`);
  const defaults = ['deflate', 'reqtimeout'].map((module) => `Include /etc/apache2/mods-available/${module}.conf`);
  const site = readDeployed('apache/cadiz.conf', [
    ['*:80', `*:${httpPort}`],
    ['*:443', `*:${httpsPort}`],
    ['/var/log/apache2/cadiz.log', join(folder, 'access.log')],
    ['/etc/apache2/cadiz.crt', join(folder, 'cadiz.crt')],
    ['/etc/apache2/cadiz.key', join(folder, 'cadiz.key')],
    ['127.0.0.1:4000', `127.0.0.1:${services[0]}`],
    ['127.0.0.1:4001', `127.0.0.1:${store}`],
  ]);
  return [...lines, ...paths, ...people, ...ports, ...defaults, site].join('\n');
}

function toCaddy(folder: string, { httpPort, httpsPort, services, store }: Ports): string {
  const options = [
    'admin off',
    'servers {',
    '\tprotocols h1 h2',
    '}',
    `http_port ${httpPort}`,
    `https_port ${httpsPort}`,
    'default_bind 127.0.0.1',
  ];
  return readDeployed('caddy/Caddyfile', [
    [/^\{$/m, ['{', ...options].join('\n\t')],
    [/^\tlog$/gm, `\tlog\n\ttls ${join(folder, 'cadiz.crt')} ${join(folder, 'cadiz.key')}`],
    ['127.0.0.1:4000', `127.0.0.1:${services[0]}`],
    ['127.0.0.1:4001', `127.0.0.1:${store}`],
  ]);
}

function readDeployed(path: string, replacements: readonly (readonly [string | RegExp, string])[]): string {
  let text = readFileSync(fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url)), 'utf8');
  for (const [from, to] of replacements) {
    const replaced = typeof from === 'string' ? text.replaceAll(from, to) : text.replace(from, to);
    if (replaced === text) throw new Error(`deploy/${path} has no ${from}`);
    text = replaced;
  }
  return text;
}

async function untilListening(port: number): Promise<void> {
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  while (!(await isListening())) await delay(20);
}

export interface Asked {
  host?: string;
  method?: string;
  headers?: Record<string, string>;
  /** A string is sent as JSON. */
  body?: string | Buffer;
  agent?: https.Agent;
  /** The address to ask from. */
  localAddress?: string;
}

export interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: Buffer;
}

/** Begins a request to a host behind the proxy. */
export function open({ httpsPort, ca }: RunningProxy, path: string, asked: Asked = {}) {
  const { host = hosts.cadiz, method = 'GET', headers = {}, body, agent, localAddress } = asked;
  const type = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {};
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  return https.request({
    ...{ host: '127.0.0.1', port: httpsPort, servername: host, ca, method, path },
    ...(agent && { agent }),
    ...(localAddress !== undefined && { localAddress }),
    headers: { Host: host, ...type, ...length, ...headers },
  });
}

/** Sends one request to a host behind the proxy; rejects if the connection is refused or reset. */
export function ask(proxy: RunningProxy, path: string, asked: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = open(proxy, path, asked);
    request.once('error', reject).once('response', (response) => {
      response
        .toArray()
        .then(
          (chunks) =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
          reject,
        );
    });
    request.end(asked.body);
  });
}

/** Waits until the proxy has found a service that is ready. */
export async function untilServing(proxy: RunningProxy): Promise<void> {
  while ((await ask(proxy, '/livez')).status !== 200) await delay(50);
}

/**
 * Uploads and downloads one file over HTTP/2, with curl: Node's client drops answers to bodies that are not quite over.
 * @param folder for the bytes; must exist
 */
export function carryOverHttp2({ httpsPort }: RunningProxy, folder: string) {
  const [sent, received] = [join(folder, 'sent'), join(folder, 'received')];
  const curl = async (path: string, ...args: string[]) => {
    const url = `https://${hosts.objects}${path}`;
    const place = ['--connect-to', `::127.0.0.1:${httpsPort}`, '--cacert', join(folder, 'cadiz.crt')];
    const written = '%{http_version} %{http_code}';
    const { stdout } = await run('curl', ['-sS', '--http2', '-w', written, '-o', received, ...place, ...args, url]);
    return stdout;
  };
  return {
    async put(path: string, bytes: Buffer): Promise<string> {
      await writeFile(sent, bytes);
      return curl(path, '-T', sent);
    },
    async get(path: string): Promise<{ said: string; bytes: Buffer }> {
      const said = await curl(path);
      return { said, bytes: await readFile(received) };
    },
  };
}

export interface Person {
  headers: Record<string, string>;
  projectId: string;
  key: string;
}

/** Signs up through the proxy, and creates a project and a key for it. */
export async function signUp(proxy: RunningProxy, welcome: string, asked: Asked = {}): Promise<Person> {
  const headers: Record<string, string> = {
    Origin: behindProxy.CADIZ_PUBLIC_URL,
    'X-Setup-Token': /setup#([\w-]+)/.exec(welcome)?.[1] ?? '',
    ...asked.headers,
  };
  const post = async (path: string, body: object) => {
    const answer = await ask(proxy, path, { ...asked, method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${answer.body}`);
    headers.Cookie ??= [answer.headers['set-cookie']].flat()[0]?.split(';')[0] ?? '';
    return JSON.parse(String(answer.body));
  };
  await post('/api/auth/sign-up/email', { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' });
  const { id: projectId } = await post('/api/projects', { name: 'P' });
  const { key } = await post('/api/api-keys', { name: 'K', projectId });
  return { headers, projectId, key };
}

/** Presigns one file, and returns what to record and the path of its URL on the host of the object store. */
export async function presign(proxy: RunningProxy, { projectId, key }: Person, fileSize: number, agent?: https.Agent) {
  const facts = { projectId, fileName: 'a.bin', mimeType: 'application/octet-stream', fileSize, folderId: null };
  const headers = { Authorization: `Bearer ${key}` };
  const more = { method: 'POST', headers, ...(agent && { agent }) };
  const answer = await ask(proxy, '/api/storage/presign', { ...more, body: JSON.stringify(facts) });
  if (answer.status !== 200) return { answer, path: '', record: () => Promise.resolve(answer) };
  const { presignedUrl, storeKey } = JSON.parse(String(answer.body));
  const { origin } = new URL(presignedUrl);
  if (origin !== behindProxy.S3_PUBLIC_ENDPOINT) throw new Error(`The presigned URL is for ${origin}`);
  return {
    answer,
    path: presignedUrl.slice(origin.length) as string,
    record: () => ask(proxy, '/api/storage/record', { ...more, body: JSON.stringify({ ...facts, storeKey }) }),
  };
}
