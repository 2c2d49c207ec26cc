import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OperationId, type Role, type Route, routes, toOpenApiDocument } from '@cadiz/contract';
import type { ImageMaker } from '@cadiz/images';
import { openStore } from '@cadiz/store';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import type { Database } from '../src/db/open.ts';
import type { Deps } from '../src/deps.ts';
import { createFeed, type FeedTimes } from '../src/events/feed.ts';
import { createArchiveLinks } from '../src/features/downloads/archive-links.ts';
import { createLinkTokens } from '../src/features/links/link-tokens.ts';
import { createFileInserts } from '../src/features/uploads/insert-file.ts';
import { createApp } from '../src/http/app.ts';
import { createIssuer } from '../src/identity/oidc/issuer.ts';
import { createPasswords, type Passwords } from '../src/identity/passwords/passwords.ts';
import { createSignInLimits } from '../src/identity/sign-in-limits.ts';
import type { Setup } from '../src/identity/sign-up/setup.ts';
import { createImageTokens } from '../src/images/image-tokens.ts';
import { createThumbnailFields } from '../src/images/thumbnail-fields.ts';
import { createMailer } from '../src/mail/mailer.ts';
import { openCaches } from '../src/open-caches.ts';
import { createRateLimits } from '../src/rate-limits/rate-limits.ts';
import { createStreamSlots } from '../src/serving/stream-slots.ts';
import { type Config, readConfig } from '../src/settings/config.ts';
import type { ObjectStore } from '../src/store/object-store.ts';
import { peekEmbedded } from '../src/store/peek-embedded.ts';
import type { S3Settings } from '../src/store/s3-settings.ts';
import { createS3Store } from '../src/store/s3-store.ts';
import { createAccessLog } from '../src/telemetry/access-log.ts';
import { createHealth } from '../src/telemetry/health.ts';
import { logOptions } from '../src/telemetry/log.ts';
import { type Tracing, untraced } from '../src/telemetry/tracing.ts';
import { createWebhookMailLimits } from '../src/webhooks/mail-limits.ts';
import type { HostLookup } from '../src/webhooks/target.ts';
import { openTestDatabase } from './database.ts';
import { createSecrecy } from './secrecy.ts';

/** The cookies of a signed-in user. */
export interface Person {
  id: string;
  email: string;
  cookie: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  /** The JSON of the answer. Tests check it field by field. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came, and `call` has checked it against the contract
  body: any;
  text: string;
}

export interface CallOptions {
  body?: unknown;
  /** A raw key, sent as a bearer credential. */
  key?: string | undefined;
  /** The person whose session cookie is sent. */
  as?: Person | undefined;
  headers?: Record<string, string>;
  /** The client's address; by default a new one each time, so that limits by address do not apply. */
  address?: string | undefined;
}

export interface TestService {
  deps: Deps;
  /** Signs the cookies. */
  secret: string;
  /** Sends one request through the app in memory. Every answer is checked against the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** The app itself, for requests that `call` cannot make. */
  fetch(request: Request, address?: string): Promise<Response>;
  signUp(name?: string): Promise<Person>;
  /** Creates a project owned by this person; returns its id. */
  createProject(owner: Person, name?: string): Promise<string>;
  /** Lets a person accept an invitation into the project: a new person unless one is named. */
  join(owner: Person, projectId: string, role: Role, person?: Person): Promise<Person>;
  /** Creates a key; returns the raw key. */
  createKey(
    owner: Person,
    projectId: string | null,
    more?: Record<string, unknown>,
  ): Promise<{ id: string; key: string }>;
  /** Presigns and PUTs; returns what record needs. */
  upload(
    caller: CallOptions,
    projectId: string,
    bytes: Uint8Array,
    facts?: Partial<Facts>,
  ): Promise<Facts & Recordable>;
  /** Everything logged so far, as text. */
  logged(): string;
  /** Moves the service's clock. The database's stays: `drainWork` moves what is due by it. */
  advance(milliseconds: number): void;
  /** How far the clock was moved since the last call, in milliseconds. */
  takeAdvance(): number;
  /** Throws if any credential was logged or stored. */
  close(): Promise<void>;
}

export interface Facts {
  fileName: string;
  mimeType: string;
  folderId: string | null;
}

interface Recordable {
  projectId: string;
  storeKey: string;
  fileSize: number;
}

/** Runs while the service has these operations of the object store in place of its own. */
export async function withObjects<T>(
  { deps }: TestService,
  replaced: Partial<Deps['objects']>,
  run: () => Promise<T>,
): Promise<T> {
  const { objects } = deps;
  deps.objects = { ...objects, ...replaced };
  try {
    return await run();
  } finally {
    deps.objects = objects;
  }
}

export interface TestServiceOptions {
  /** Settings as in the environment, for example `{ MAX_FILE_SIZE_BYTES: '1000' }`. */
  settings?: Record<string, string>;
  setup?: Setup;
  /** Used instead of a new database; closed with the service. */
  db?: Database;
  /** Hashes passwords; the service's own by default. */
  passwords?: Passwords;
  /** Takes on the check of every recorded file. By default nothing checks contents, so that rows stay as they were made. */
  checkContent?: Deps['work']['take'];
  /**
   * Shares the object store of another test service, which outlives this one, and its database unless `db` is given.
   */
  beside?: TestService;
  /** Makes images; by default nothing does. */
  images?: ImageMaker;
  /** Numbers events so often; by default they stay in the outbox until `numberEvents` is called. */
  feed?: FeedTimes;
  /** The clock that `advance` moves; the machine's by default. Milliseconds since 1970. */
  clock?: () => number;
  /** Finds the addresses of the hosts of webhooks; by default names under `example.com` have a public one, and others none. */
  lookupHost?: HostLookup;
  /** Decides what is traced; by default nothing is. */
  tracing?: Tracing;
  /** Signs the cookies: the secret of another service makes that service's cookies valid here. */
  secret?: string;
}

const everybodysPassword = 'correct horse battery';
let everybodysHash: Promise<string> | undefined;

/** As the service's own, except that the password of everybody who signs up is hashed once: each time takes a core 20 ms. */
function createTestPasswords(): Passwords {
  const passwords = createPasswords();
  return {
    ...passwords,
    hash(password) {
      if (password !== everybodysPassword) return passwords.hash(password);
      everybodysHash ??= passwords.hash(password);
      return everybodysHash;
    },
  };
}

const never: FeedTimes = { collectMilliseconds: 2 ** 31 - 1, pollMilliseconds: 2 ** 31 - 1 };

/**
 * Starts the service with real parts: a database of its own, a real object store over the wire (the embedded one, or
 * the one that TEST_S3_* names), and the whole app in memory.
 */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const config = readConfig({ CADIZ_SIGN_UP: 'open', RATE_LIMITS: 'off', ...options.settings });
  const lines: string[] = [];
  // Logs everything, because `close` searches the log for what must not be logged at any level.
  const level = options.settings?.LOG_LEVEL ?? 'trace';
  const log = pino({ ...logOptions, level }, { write: (line) => void lines.push(line) });
  const secrecy = createSecrecy();
  secrecy.remember(options.setup?.token);
  let ahead = 0;
  let taken = 0;
  const { clock = Date.now } = options;
  const now = () => clock() + ahead;

  const { beside } = options;
  const db = options.db ?? beside?.deps.db ?? (await openTestDatabase());
  const store = beside
    ? { objects: beside.deps.objects, settings: beside.deps.storeSettings, close: async () => undefined }
    : await openTestStore(config, now);
  const secret = options.secret ?? randomBytes(32).toString('base64url');
  const mail = config.mail && createMailer(config.mail, log);
  const feed = createFeed(db, log, options.feed ?? never);
  const deps: Deps = {
    config,
    mail,
    db,
    objects: store.objects,
    storeSettings: store.settings,
    secret,
    setup: options.setup,
    passwords: options.passwords ?? createTestPasswords(),
    signInLimits: createSignInLimits(db),
    issuer: config.oidc && createIssuer(config.oidc, { publicUrl: config.publicUrl, now, log }),
    ...openCaches(db, now, log),
    inserts: createFileInserts(db),
    rateLimits: createRateLimits(config.rateLimits),
    archiveLinks: createArchiveLinks(secret, now),
    archiveSlots: createStreamSlots(config.archivesAtOnce, 'archives_busy', now),
    linkTokens: createLinkTokens(secret),
    linkSlots: createStreamSlots(config.linksAtOnce, 'links_busy', now),
    imageTokens: createImageTokens(secret, now),
    thumbnailFields: createThumbnailFields(),
    images: options.images,
    feed,
    webhookMails: createWebhookMailLimits(db),
    lookupHost: options.lookupHost ?? (async (host) => (/(^|\.)example\.com$/.test(host) ? ['93.184.215.14'] : [])),
    work: {
      offer: () => options.checkContent && randomUUID(),
      take: options.checkContent ?? (() => undefined),
    },
    log,
    accessLog: createAccessLog(config, log),
    tracing: options.tracing ?? untraced,
    observe: () => undefined,
    onMismatch: () => undefined,
    onRequest: () => undefined,
    onAttempt: () => undefined,
    health: createHealth(
      {
        database: { check: db.check },
        objectStore: { check: () => store.objects.check(), findWarning: () => store.objects.clockWarning() },
      },
      log,
    ),
    draining: () => false,
    now,
  };
  const app = createApp(deps);
  const fetch = async (request: Request, address = newAddress()) => app.fetch(request, address);

  async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, key, as, headers, address } = options;
    const request = new Request(config.publicUrl + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(as ? { Cookie: as.cookie } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const response = await fetch(request, address);
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
      text,
    };
    secrecy.remember((body as { password?: string } | undefined)?.password);
    secrecy.rememberAnswer(answer.headers, answer.body);
    requireContract(method, path, answer);
    return answer;
  }

  async function expectOk(answer: Promise<Answer>): Promise<Answer> {
    const { status, text } = await answer;
    if (status !== 200) throw new Error(`Expected 200, got ${status}: ${text}`);
    return answer;
  }

  const service: TestService = {
    deps,
    secret,
    call,
    fetch,
    async signUp(name = 'Ada') {
      const email = `${name.toLowerCase()}-${randomUUID()}@example.com`;
      const { body, headers } = await expectOk(
        call('POST', '/api/auth/sign-up/email', { body: { name, email, password: everybodysPassword } }),
      );
      const cookie = headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; ');
      return { id: body.user.id, email, cookie };
    },
    async createProject(owner, name = 'A project') {
      return (await expectOk(call('POST', '/api/projects', { as: owner, body: { name } }))).body.id;
    },
    async join(owner, projectId, role, known) {
      const person = known ?? (await service.signUp('Eve'));
      const body = { email: person.email, role };
      const invited = await expectOk(call('POST', `/api/projects/${projectId}/invitations`, { as: owner, body }));
      const token = invited.body.url.split('#')[1];
      await expectOk(call('POST', '/api/invitations/accept', { as: person, body: { token } }));
      return person;
    },
    async createKey(owner, projectId, more = {}) {
      const body = { name: 'A key', projectId, ...more };
      return (await expectOk(call('POST', '/api/api-keys', { as: owner, body }))).body;
    },
    async upload(caller, projectId, bytes, facts = {}) {
      const wanted: Facts = { fileName: 'photo.jpg', mimeType: 'image/jpeg', folderId: null, ...facts };
      const request = { projectId, ...wanted, fileSize: bytes.length };
      const { body } = await expectOk(call('POST', '/api/storage/presign', { ...caller, body: request }));
      const put = await send('PUT', body.presignedUrl, bytes);
      if (put.status !== 200) throw new Error(`PUT answered ${put.status}: ${put.text}`);
      return { ...request, storeKey: body.storeKey };
    },
    logged: () => lines.join(''),
    advance: (milliseconds) => {
      ahead += milliseconds;
    },
    takeAdvance() {
      const moved = ahead - taken;
      taken = ahead;
      return moved;
    },
    async close() {
      await mail?.idle();
      feed.end();
      await feed.close();
      const isOwn = !beside && !db.pool.ended;
      const leak = secrecy.findIn(lines.join('')) ?? (isOwn ? await secrecy.findInDatabase(db) : undefined);
      await store.close();
      await deps.accessChanges.close();
      if (!beside) await db.close();
      if (leak !== undefined) throw new Error(`A credential was written down (checklist 27 and 46): …${leak}…`);
    },
  };
  return service;
}

/** From the block for documentation (RFC 3849), each in a separate /64. */
function newAddress(): string {
  return `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;
}

/** Sends a request over the wire as a client would, with a Content-Length and nothing else. */
export function send(
  method: string,
  url: string,
  body: Uint8Array = new Uint8Array(),
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: http.IncomingHttpHeaders; text: string }> {
  const client = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const request = client.request(
      url,
      { method, headers: { 'Content-Length': body.length, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** The tests' object store with a bucket in it, and the settings with which another adapter reaches it. */
export async function openTestStore(
  { presignTtlSeconds }: Pick<Config, 'presignTtlSeconds'>,
  now: () => number,
): Promise<{ objects: ObjectStore; settings: S3Settings; close(): Promise<void> }> {
  const {
    TEST_S3_ENDPOINT: endpoint,
    TEST_S3_REGION,
    TEST_S3_BUCKET,
    TEST_S3_ACCESS_KEY_ID,
    TEST_S3_SECRET_ACCESS_KEY,
  } = process.env;
  if (endpoint) {
    const settings: S3Settings = {
      endpoint,
      publicEndpoint: endpoint,
      region: TEST_S3_REGION ?? 'us-east-1',
      bucket: TEST_S3_BUCKET ?? 'cadiz-test',
      accessKeyId: TEST_S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: TEST_S3_SECRET_ACCESS_KEY ?? '',
      presignTtlSeconds,
    };
    const objects = createS3Store(settings, Date.now);
    await objects.prepare();
    return { objects, settings, close: async () => objects.close() };
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'cadiz-test-objects-'));
  const credentials = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: randomBytes(20).toString('hex') };
  const store = await openStore({
    ...credentials,
    dataDir,
    host: '127.0.0.1',
    port: 0,
    now,
    presignedOverwrite: 'deny',
  });
  const address = `http://127.0.0.1:${store.port}`;
  const settings: S3Settings = {
    ...credentials,
    endpoint: address,
    publicEndpoint: address,
    region: 'us-east-1',
    bucket: 'cadiz',
    presignTtlSeconds,
  };
  const objects = createS3Store(settings, now, undefined, peekEmbedded(store, settings.bucket));
  await objects.prepare();
  return {
    objects,
    settings,
    async close() {
      objects.close();
      await store.close({ drainMilliseconds: 0 });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const document = toOpenApiDocument('http://localhost:4000', '0.0.0');
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(seal(document) as object, 'openapi');

/** The document without the fields that later versions may add: this version sends none that it does not describe. */
function seal(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(seal);
  if (typeof part !== 'object' || part === null) return part;
  const closed = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, seal(value)]));
  return 'properties' in part && closed.type === 'object' ? { additionalProperties: false, ...closed } : closed;
}

const patterns = (Object.entries(routes) as [OperationId, Route][]).map(([operationId, { method, path }]) => ({
  operationId,
  method,
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** The operation that a request is for. */
export function findOperation(method: string, path: string): (typeof patterns)[number] | undefined {
  const [pathname = ''] = path.split('?');
  return patterns.find((route) => route.method === method && route.pattern.test(pathname));
}

/** Fails unless the OpenAPI document describes the answer. */
export function requireContract(method: string, path: string, answer: Answer): void {
  const operation = findOperation(method, path);
  if (!operation) return;
  if (answer.status === 302) {
    requireRedirect(operation.operationId, answer);
    return;
  }
  if ((routes[operation.operationId] as Route).sendsFile && [200, 206, 304].includes(answer.status)) return;
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const place = ['paths', operation.path, method.toLowerCase(), 'responses', String(answer.status)];
  const pointer = [...followReference(place), 'content', type, 'schema']
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  const validate = ajv.getSchema(`openapi#/${pointer}`);
  if (!validate)
    throw new Error(`${method} ${path} answered ${answer.status} ${type}, which openapi.json does not describe`);
  if (type.includes('json') && !validate(answer.body)) {
    throw new Error(`${method} ${path} ${answer.status}: ${ajv.errorsText(validate.errors)} in ${answer.text}`);
  }
}

/** Failures that many operations share are among the components. */
function followReference(place: string[]): string[] {
  let part: unknown = document;
  for (const name of place) part = (part as Record<string, unknown> | undefined)?.[name];
  const { $ref } = (part ?? {}) as { $ref?: string };
  return $ref === undefined ? place : $ref.slice('#/'.length).split('/');
}

function requireRedirect(operationId: OperationId, { headers, text }: Answer): void {
  const { redirectsTo } = routes[operationId] as Route;
  if (redirectsTo !== undefined && URL.canParse(headers.get('location') ?? '') && text === '') return;
  throw new Error(`${operationId} answered 302, which openapi.json does not describe, or without an address.`);
}
