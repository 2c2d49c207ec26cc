import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { DatabaseSettings } from '../db/open.ts';
import type { MailSettings } from '../mail/mailer.ts';
import type { RateLimitSettings } from '../rate-limits/rate-limits.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import { isLoopback } from './loopback.ts';
import { findUnknownSettings } from './unknown-settings.ts';

/** A setting is its name, its default and its sentence, here and nowhere else; `docs/settings.md` is made from this. */
interface Setting {
  default: string | undefined;
  sentence: string;
  check?: z.ZodType<unknown, string>;
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);
const port = wholeNumber(1, 65_535);
const address = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: `must be an address that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
/** In the form that browsers have it in (`HTTPS://Example.com:443/` is `https://example.com`), without a slash at its end. */
const httpAddress = address('http:', 'https:').transform((text) => new URL(text).href.replace(/\/$/, ''));
const text = z.string();

/** `10.0.0.0/8, 127.0.0.1, fd00::/8` */
const networks = z.string().transform((list, context) => {
  const found = new BlockList();
  for (const entry of list.split(',').map((part) => part.trim())) {
    const [, network = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const family = isIP(network);
    const longest = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? longest : Number(bits);
    if (family === 0 || prefix > longest) {
      context.issues.push({
        code: 'custom',
        input: list,
        message: 'must be addresses and networks such as 10.0.0.0/8, with commas between them',
      });
      return z.NEVER;
    }
    found.addSubnet(network, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return found;
});
const onOrOff = z.enum(['on', 'off'], { error: 'must be on or off' });

/** Kept to the letter: an issuer is compared as a text (OpenID Connect Discovery 1.0 §4.3). */
const issuer = z.string().refine(
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname, search, hash, username } = new URL(text);
    if (search || hash || username) return false;
    return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  },
  { error: 'must be an address that starts with https://, or with http:// on loopback, without ? and #' },
);
const scopes = z
  .string()
  .transform((text) => [...new Set(['openid', ...text.split(/\s+/).filter(Boolean)])])
  .refine((list) => list.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)), {
    error: 'must be scopes with spaces between',
  });
const domain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const oidcSignUp = z
  .string()
  .transform((text) => text.toLowerCase().trim())
  .transform((text) => (text === 'open' || text === 'closed' ? text : text.split(/\s*,\s*/)))
  .refine((value) => typeof value === 'string' || value.every((part) => domain.test(part)), {
    error: 'must be closed, open, or domains such as example.com with commas between',
  });

/** 5 GiB: the most that S3 takes in one PUT. */
const singlePutLimitBytes = 5 * 1024 ** 3;
/** 5 TiB: the largest object that S3 has. */
const objectLimitBytes = 5 * 1024 ** 4;
const longestPresignSeconds = 7 * 24 * 3600;

export const settings = {
  PORT: { default: '4000', sentence: 'Port that the service listens on.', check: port },
  HOST: {
    default: '127.0.0.1',
    sentence: 'Address that the service and the embedded store listen on; `0.0.0.0` or `::` for every network.',
    check: text,
  },
  CADIZ_PUBLIC_URL: {
    default: 'http://localhost:<PORT>',
    sentence: 'The address that people use, as their browsers see it.',
    check: httpAddress,
  },
  TRUSTED_PROXIES: {
    default: undefined,
    sentence:
      'Addresses and networks of reverse proxies, such as `10.0.0.0/8, 127.0.0.1`: only what comes from them is believed in `X-Forwarded-For`. Otherwise a client is the address of its connection.',
    check: networks,
  },
  CADIZ_DATA_DIR: {
    default: './data',
    sentence: 'Folder of the embedded database, the embedded objects and the generated secrets.',
    check: text,
  },
  CADIZ_WITHOUT_OBJECTS: {
    default: 'off',
    sentence:
      'Whether the service starts although the object store has none of the files that the database knows: `on` after a bucket was lost, otherwise `off`.',
    check: onOrOff,
  },
  CADIZ_SECRET: {
    default: 'generated into the data folder',
    sentence: 'Signs session cookies; the same on every replica.',
    check: text.min(32, { error: 'must be at least 32 characters' }),
  },
  CADIZ_SIGN_UP: {
    default: 'first',
    sentence:
      'Who may make an account: only the `first` person, everybody (`open`), or nobody (`closed`). With `open`, set SMTP_URL as well, so that e-mail addresses are verified.',
    check: z.enum(['first', 'open', 'closed'], { error: 'must be first, open or closed' }),
  },
  OIDC_ISSUER: {
    default: undefined,
    sentence:
      'People can sign in with this OpenID Connect issuer: its address as it names itself, over https (http on loopback only). Off when it is not set.',
    check: issuer,
  },
  OIDC_CLIENT_ID: { default: undefined, sentence: 'What the issuer calls this service.', check: text },
  OIDC_CLIENT_SECRET: { default: undefined, sentence: 'The secret that it shares with this service.', check: text },
  OIDC_NAME: { default: 'the host of OIDC_ISSUER', sentence: 'What people call the issuer.', check: text },
  OIDC_SCOPES: {
    default: 'openid email profile',
    sentence: 'What the issuer is asked for, with spaces between.',
    check: scopes,
  },
  OIDC_SIGN_UP: {
    default: 'closed',
    sentence:
      'Who gets an account by signing in with the issuer for the first time, beyond those whom CADIZ_SIGN_UP or an invitation lets in: nobody (`closed`), everybody whom the issuer knows (`open`), or those with an e-mail address of domains such as `example.com, example.org`.',
    check: oidcSignUp,
  },
  PASSKEYS: {
    default: 'on',
    sentence: 'Whether people can add passkeys and sign in by them, under the host of CADIZ_PUBLIC_URL: `on` or `off`.',
    check: onOrOff,
  },
  SECOND_FACTOR: {
    default: 'on',
    sentence:
      'Whether accounts with a password can get a second factor, codes of an app: `on` or `off`. Who has one needs it in any case.',
    check: onOrOff,
  },
  SMTP_URL: {
    default: undefined,
    sentence:
      'The mail server that messages to reset a password or verify an e-mail address go through, such as `smtps://user:password@mail.example.com`; `smtp://` uses STARTTLS, and insists on it when there is a password. Without it a password is reset with `npm run users`.',
    check: address('smtp:', 'smtps:'),
  },
  SMTP_FROM: {
    default: undefined,
    sentence: 'Who these messages come from, such as `Cadiz <media@example.com>`; needed when SMTP_URL is set.',
    check: text,
  },
  DATABASE_URL: {
    default: undefined,
    sentence: 'PostgreSQL 15 or newer; the embedded database when it is not set.',
    check: address('postgres:', 'postgresql:'),
  },
  DATABASE_DIRECT_URL: {
    default: undefined,
    sentence:
      'The same database past the pooler that DATABASE_URL names, for migrations and for LISTEN; statements to the pooler are then sent unnamed.',
    check: address('postgres:', 'postgresql:'),
  },
  DATABASE_POOL_SIZE: {
    default: '10',
    sentence: 'Connections to PostgreSQL at the most, for each process.',
    check: wholeNumber(1, 1000),
  },
  S3_ENDPOINT: {
    default: undefined,
    sentence: 'The object store, as the service reaches it; the embedded store when it is not set.',
    check: httpAddress,
  },
  S3_REGION: { default: 'us-east-1', sentence: 'Its region.', check: text },
  S3_BUCKET: { default: undefined, sentence: 'Its bucket; made at start when it does not exist.', check: text },
  S3_ACCESS_KEY_ID: { default: undefined, sentence: 'Its access key.', check: text },
  S3_SECRET_ACCESS_KEY: { default: undefined, sentence: 'Its secret key.', check: text },
  S3_UPLOAD_ACCESS_KEY_ID: {
    default: '= S3_ACCESS_KEY_ID',
    sentence: 'A second access key, which may only write: the addresses of uploads are then signed with this one.',
    check: text,
  },
  S3_UPLOAD_SECRET_ACCESS_KEY: {
    default: '= S3_SECRET_ACCESS_KEY',
    sentence: 'The secret key of that second access key.',
    check: text,
  },
  S3_PUBLIC_ENDPOINT: {
    default: '= S3_ENDPOINT',
    sentence:
      'The object store as clients reach it; presigned addresses start with this. For the embedded store: the host of CADIZ_PUBLIC_URL with STORE_PORT.',
    check: httpAddress,
  },
  STORE_PORT: { default: '4001', sentence: 'Port of the embedded object store.', check: port },
  STORE_ACCESS_KEY_ID: {
    default: 'generated into the data folder',
    sentence: 'Access key of the embedded store, to point an S3 tool at it.',
    check: text,
  },
  STORE_SECRET_ACCESS_KEY: {
    default: 'generated into the data folder',
    sentence: 'Secret key of the embedded store.',
    check: text,
  },
  PRESIGN_TTL_SECONDS: {
    default: '900',
    sentence: 'How long a presigned address lives.',
    check: wholeNumber(1, longestPresignSeconds),
  },
  RECORD_DEADLINE_SECONDS: {
    default: '86400',
    sentence: 'How long after its presign an upload can be recorded; longer than PRESIGN_TTL_SECONDS.',
    check: wholeNumber(1, 365 * 24 * 3600),
  },
  JANITOR_INTERVAL_SECONDS: {
    default: '600',
    sentence:
      'How often the service looks for what has to go: objects that nobody recorded, abandoned uploads, what has left the trash.',
    check: wholeNumber(1, 24 * 3600),
  },
  JANITOR_MARGIN_SECONDS: {
    default: '3600',
    sentence:
      'How much longer than RECORD_DEADLINE_SECONDS an object without a row is left alone; longer than the clocks of the processes differ.',
    check: wholeNumber(1, 365 * 24 * 3600),
  },
  RECONCILE_INTERVAL_SECONDS: {
    default: '604800',
    sentence: 'How often all objects of each project are compared with its files.',
    check: wholeNumber(60, 365 * 24 * 3600),
  },
  MAX_FILE_SIZE_BYTES: {
    default: undefined,
    sentence:
      'The largest file. When it is not set, a single PUT takes 5 GiB and an upload in parts 5 TiB, which is what S3 takes at most.',
    check: wholeNumber(0, objectLimitBytes),
  },
  UPLOAD_DEADLINE_SECONDS: {
    default: '604800',
    sentence: 'How long after its beginning an upload in parts can be completed. Afterwards its parts are removed.',
    check: wholeNumber(60, 365 * 24 * 3600),
  },
  TRASH_RETENTION_DAYS: {
    default: '30',
    sentence: 'How long what was deleted can be restored before it goes for good.',
    check: wholeNumber(1, 3650),
  },
  AUDIT_RETENTION_DAYS: {
    default: '400',
    sentence: 'How long audit events are kept.',
    check: wholeNumber(1, 36_500),
  },
  PROJECT_CREATION: {
    default: 'everybody',
    sentence: 'Who may make projects: `everybody` who has an account, or only the `owner` of the service.',
    check: z.enum(['everybody', 'owner'], { error: 'must be everybody or owner' }),
  },
  PROJECT_QUOTA_BYTES: {
    default: undefined,
    sentence:
      'The quota of a new project that names none, and the most that anybody but the owner of the service can give a project. Existing projects keep what they have. No limit when it is not set.',
    check: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  PROJECTS_PER_ACCOUNT: {
    default: '1000',
    sentence: 'How many projects that exist one account can have made.',
    check: wholeNumber(0, 1_000_000_000),
  },
  API_KEYS_PER_ACCOUNT: {
    default: '1000',
    sentence: 'How many API keys that are neither revoked nor expired one account can have.',
    check: wholeNumber(0, 1_000_000_000),
  },
  ARCHIVES_AT_ONCE: {
    default: '4',
    sentence:
      'How many ZIP archives each process makes at once; at most half of them for one account, and half for one project.',
    check: wholeNumber(1, 1000),
  },
  RATE_LIMITS: {
    default: 'on',
    sentence: 'Whether requests are counted and too many of them refused: `on` or `off`.',
    check: z.enum(['on', 'off'], { error: 'must be on or off' }),
  },
  RATE_LIMIT_UPLOADS: {
    default: '60000',
    sentence:
      'How many requests for uploads (presign, record, uploads in parts) each API key and each session may make in a minute.',
    check: wholeNumber(1, 1_000_000_000),
  },
  RATE_LIMIT_READS: {
    default: '60000',
    sentence: 'How many requests that only read each API key and each session may make in a minute.',
    check: wholeNumber(1, 1_000_000_000),
  },
  RATE_LIMIT_CHANGES: {
    default: '12000',
    sentence: 'How many other requests each API key and each session may make in a minute.',
    check: wholeNumber(1, 1_000_000_000),
  },
  RATE_LIMIT_ADDRESS: {
    default: '6000',
    sentence: 'How many requests without an accepted credential each address may make in a minute.',
    check: wholeNumber(1, 1_000_000_000),
  },
  RATE_LIMIT_INVALID_KEYS: {
    default: '60',
    sentence:
      'How many unknown API keys each address may send in a minute, and how often a dead one may be sent. Beyond that the answer is 429; a good key is accepted all the same.',
    check: wholeNumber(1, 1_000_000_000),
  },
  METRICS_PORT: {
    default: undefined,
    sentence: 'Port of the Prometheus metrics, on HOST under `/metrics`; off when it is not set.',
    check: port,
  },
  LOG_LEVEL: {
    default: 'info',
    sentence: 'How much is logged: `error`, `warn`, `info` or `debug` (one line a request).',
    check: z.enum(['error', 'warn', 'info', 'debug'], { error: 'must be error, warn, info or debug' }),
  },
  DRAIN_DELAY_SECONDS: {
    default: '7, or 0 when standard output is a terminal',
    sentence:
      'How long the service goes on as before when it is told to stop, but for `GET /readyz`, which says 503: long enough for a proxy to notice and to send nothing more.',
    check: wholeNumber(0, 3600),
  },
  DRAIN_SECONDS: {
    default: '30',
    sentence: 'How long requests and uploads that are under way then may take to finish.',
    check: wholeNumber(0, 3600),
  },
} as const satisfies Record<string, Setting>;

type Name = keyof typeof settings;
type Values = { [N in Name]: (typeof settings)[N] extends { check: z.ZodType<infer T> } ? T | undefined : never };

/** Signing in with an OpenID Connect issuer. */
export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call the issuer. */
  name: string;
  scopes: readonly string[];
  /** Who gets an account at the first sign-in; a list is of domains in lower case. */
  signUp: 'closed' | 'open' | readonly string[];
}

export interface EmbeddedStoreSettings {
  kind: 'embedded';
  port: number;
  dataDir: string;
  publicEndpoint: string;
  /** Generated into the data folder when they are not given. */
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
}

export interface OtherStoreSettings extends Omit<S3Settings, 'presignTtlSeconds'> {
  kind: 's3';
}

export interface Config {
  host: string;
  port: number;
  publicUrl: string;
  /** Whose `X-Forwarded-For` is believed. */
  trustedProxies: BlockList;
  dataDir: string;
  /** Whether the service starts where the files have no objects. */
  withoutObjects: boolean;
  secret: string | undefined;
  signUp: 'first' | 'open' | 'closed';
  oidc: OidcSettings | undefined;
  passkeys: boolean;
  /** Whether an account can get a second factor. */
  secondFactor: boolean;
  /** Where e-mail goes out; undefined where none does. */
  mail: MailSettings | undefined;
  database: DatabaseSettings;
  objectStore: EmbeddedStoreSettings | OtherStoreSettings;
  presignTtlSeconds: number;
  recordDeadlineSeconds: number;
  janitorIntervalSeconds: number;
  janitorMarginSeconds: number;
  reconcileIntervalSeconds: number;
  /** Of a single PUT. */
  maxFileSizeBytes: number;
  /** Of an upload in parts. */
  maxUploadSizeBytes: number;
  uploadDeadlineSeconds: number;
  trashRetentionDays: number;
  auditRetentionDays: number;
  projectCreation: 'everybody' | 'owner';
  /** Undefined when there is no limit. */
  projectQuotaBytes: number | undefined;
  projectsPerAccount: number;
  apiKeysPerAccount: number;
  archivesAtOnce: number;
  /** Undefined when nothing is limited. */
  rateLimits: RateLimitSettings | undefined;
  metricsPort: number | undefined;
  logLevel: 'error' | 'warn' | 'info' | 'debug';
  /** How long a service that stops is still listening. */
  drainDelaySeconds: number;
  drainSeconds: number;
}

/** What is known of the settings beside their values. */
export interface SettingsContext {
  /** The names that the `.env` file sets. */
  fromFile?: Iterable<string>;
  /** Told, in a sentence each, what stops nothing: variables that look like settings and are none. */
  warn?: (sentence: string) => void;
  /** Whether a person looks on, who would wait for nothing in vain. */
  isTerminal?: boolean;
}

/** Every mistake in the settings, told together. */
export class InvalidSettings extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'InvalidSettings';
    this.mistakes = mistakes;
  }
}

/**
 * The settings from the environment. An empty variable counts as not set.
 * @throws InvalidSettings with one sentence for each mistake
 */
export function readConfig(
  environment: Record<string, string | undefined>,
  { fromFile = [], warn = () => undefined, isTerminal = false }: SettingsContext = {},
): Config {
  const mistakes: string[] = [];
  const values = Object.fromEntries(
    (Object.entries(settings) as [Name, Setting][]).map(([name, setting]) => [
      name,
      readOne(name, setting, environment[name], mistakes),
    ]),
  ) as Values;
  const given = (name: Name) => values[name] !== undefined;

  const embeddedStore = !given('S3_ENDPOINT');
  const needed: Name[] = ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
  const missing = needed.filter((name) => !given(name) && !environment[name]);
  if (!embeddedStore && missing.length > 0) mistakes.push(`${missing.join(', ')} must be set when S3_ENDPOINT is.`);
  const stray = needed.filter((name) => given(name));
  if (!environment.S3_ENDPOINT && stray.length > 0)
    mistakes.push(`S3_ENDPOINT must be set when ${stray.join(', ')} ${stray.length > 1 ? 'are' : 'is'}.`);

  const upload: Name[] = ['S3_UPLOAD_ACCESS_KEY_ID', 'S3_UPLOAD_SECRET_ACCESS_KEY'];
  if (given('S3_UPLOAD_ACCESS_KEY_ID') !== given('S3_UPLOAD_SECRET_ACCESS_KEY'))
    mistakes.push(`${upload.join(' and ')} must be set together.`);
  else if (given('S3_UPLOAD_ACCESS_KEY_ID') && !environment.S3_ENDPOINT)
    mistakes.push(`S3_ENDPOINT must be set when ${upload.join(' and ')} are.`);

  const oidcNames: Name[] = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  const oidcMissing = oidcNames.filter((name) => !environment[name]);
  if (oidcMissing.length === 1 || oidcMissing.length === 2)
    mistakes.push(
      `${oidcNames.join(', ')} must be set together, and ${oidcMissing.join(', ')} ${oidcMissing.length > 1 ? 'are' : 'is'} not.`,
    );

  if (given('SMTP_URL') !== given('SMTP_FROM')) mistakes.push('SMTP_URL and SMTP_FROM must be set together.');

  if (given('DATABASE_DIRECT_URL') && !environment.DATABASE_URL) {
    mistakes.push('DATABASE_URL must be set when DATABASE_DIRECT_URL is.');
  }

  const portNumber = values.PORT ?? 4000;
  const storePort = values.STORE_PORT ?? 4001;
  const ports = {
    PORT: portNumber,
    STORE_PORT: embeddedStore ? storePort : undefined,
    METRICS_PORT: values.METRICS_PORT,
  };
  for (const [a, b] of [
    ['PORT', 'STORE_PORT'],
    ['PORT', 'METRICS_PORT'],
    ['STORE_PORT', 'METRICS_PORT'],
  ] as const) {
    if (ports[a] !== undefined && ports[a] === ports[b])
      mistakes.push(`${a} and ${b} must be different, and both are ${ports[a]}.`);
  }
  const presignTtlSeconds = values.PRESIGN_TTL_SECONDS ?? 900;
  const recordDeadlineSeconds = values.RECORD_DEADLINE_SECONDS ?? 86_400;
  if (recordDeadlineSeconds <= presignTtlSeconds) {
    mistakes.push(
      `RECORD_DEADLINE_SECONDS (${recordDeadlineSeconds}) must be longer than PRESIGN_TTL_SECONDS (${presignTtlSeconds}), or uploads would be too late to be recorded.`,
    );
  }
  const unknown = findUnknownSettings(environment, fromFile, Object.keys(settings));
  for (const sentence of unknown.warnings) warn(sentence);
  mistakes.push(...unknown.mistakes);
  if (mistakes.length > 0) throw new InvalidSettings(mistakes);

  const dataDir = resolve(values.CADIZ_DATA_DIR ?? 'data');
  const publicUrl = values.CADIZ_PUBLIC_URL ?? `http://localhost:${portNumber}`;
  return {
    host: values.HOST ?? '127.0.0.1',
    port: portNumber,
    publicUrl,
    trustedProxies: values.TRUSTED_PROXIES ?? new BlockList(),
    dataDir,
    withoutObjects: values.CADIZ_WITHOUT_OBJECTS === 'on',
    secret: values.CADIZ_SECRET,
    signUp: values.CADIZ_SIGN_UP ?? 'first',
    passkeys: values.PASSKEYS !== 'off',
    secondFactor: values.SECOND_FACTOR !== 'off',
    oidc:
      values.OIDC_ISSUER === undefined
        ? undefined
        : {
            issuer: values.OIDC_ISSUER,
            clientId: values.OIDC_CLIENT_ID ?? '',
            clientSecret: values.OIDC_CLIENT_SECRET ?? '',
            name: values.OIDC_NAME ?? new URL(values.OIDC_ISSUER).host,
            scopes: values.OIDC_SCOPES ?? ['openid', 'email', 'profile'],
            signUp: values.OIDC_SIGN_UP ?? 'closed',
          },
    mail: values.SMTP_URL === undefined ? undefined : { url: values.SMTP_URL, from: values.SMTP_FROM ?? '' },
    database:
      values.DATABASE_URL === undefined
        ? { kind: 'embedded', dataDir: resolve(dataDir, 'database') }
        : {
            kind: 'postgres',
            url: values.DATABASE_URL,
            directUrl: values.DATABASE_DIRECT_URL,
            maxConnections: values.DATABASE_POOL_SIZE ?? 10,
          },
    objectStore: embeddedStore
      ? {
          kind: 'embedded',
          port: storePort,
          dataDir: resolve(dataDir, 'objects'),
          publicEndpoint: values.S3_PUBLIC_ENDPOINT ?? `http://${new URL(publicUrl).hostname}:${storePort}`,
          accessKeyId: values.STORE_ACCESS_KEY_ID,
          secretAccessKey: values.STORE_SECRET_ACCESS_KEY,
        }
      : {
          kind: 's3',
          endpoint: values.S3_ENDPOINT ?? '',
          publicEndpoint: values.S3_PUBLIC_ENDPOINT ?? values.S3_ENDPOINT ?? '',
          region: values.S3_REGION ?? 'us-east-1',
          bucket: values.S3_BUCKET ?? '',
          accessKeyId: values.S3_ACCESS_KEY_ID ?? '',
          secretAccessKey: values.S3_SECRET_ACCESS_KEY ?? '',
          upload:
            values.S3_UPLOAD_ACCESS_KEY_ID === undefined
              ? undefined
              : {
                  accessKeyId: values.S3_UPLOAD_ACCESS_KEY_ID,
                  secretAccessKey: values.S3_UPLOAD_SECRET_ACCESS_KEY ?? '',
                },
        },
    presignTtlSeconds,
    recordDeadlineSeconds,
    janitorIntervalSeconds: values.JANITOR_INTERVAL_SECONDS ?? 600,
    janitorMarginSeconds: values.JANITOR_MARGIN_SECONDS ?? 3600,
    reconcileIntervalSeconds: values.RECONCILE_INTERVAL_SECONDS ?? 604_800,
    maxFileSizeBytes: Math.min(values.MAX_FILE_SIZE_BYTES ?? singlePutLimitBytes, singlePutLimitBytes),
    maxUploadSizeBytes: values.MAX_FILE_SIZE_BYTES ?? objectLimitBytes,
    uploadDeadlineSeconds: values.UPLOAD_DEADLINE_SECONDS ?? 604_800,
    trashRetentionDays: values.TRASH_RETENTION_DAYS ?? 30,
    auditRetentionDays: values.AUDIT_RETENTION_DAYS ?? 400,
    projectCreation: values.PROJECT_CREATION ?? 'everybody',
    projectQuotaBytes: values.PROJECT_QUOTA_BYTES,
    projectsPerAccount: values.PROJECTS_PER_ACCOUNT ?? 1000,
    apiKeysPerAccount: values.API_KEYS_PER_ACCOUNT ?? 1000,
    archivesAtOnce: values.ARCHIVES_AT_ONCE ?? 4,
    rateLimits:
      values.RATE_LIMITS === 'off'
        ? undefined
        : {
            uploads: values.RATE_LIMIT_UPLOADS ?? 60_000,
            reads: values.RATE_LIMIT_READS ?? 60_000,
            changes: values.RATE_LIMIT_CHANGES ?? 12_000,
            address: values.RATE_LIMIT_ADDRESS ?? 6_000,
            'invalid-keys': values.RATE_LIMIT_INVALID_KEYS ?? 60,
          },
    metricsPort: values.METRICS_PORT,
    logLevel: values.LOG_LEVEL ?? 'info',
    drainDelaySeconds: values.DRAIN_DELAY_SECONDS ?? (isTerminal ? 0 : 7),
    drainSeconds: values.DRAIN_SECONDS ?? 30,
  };
}

const secretNames: ReadonlySet<string> = new Set([
  'CADIZ_SECRET',
  'OIDC_CLIENT_SECRET',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'SMTP_URL',
  'S3_SECRET_ACCESS_KEY',
  'S3_UPLOAD_SECRET_ACCESS_KEY',
  'STORE_SECRET_ACCESS_KEY',
]);

function readOne(name: string, { check = text }: Setting, raw: string | undefined, mistakes: string[]): unknown {
  if (raw === undefined || raw === '') return undefined;
  const result = check.safeParse(raw);
  if (result.success) return result.data;
  // What has an @ may be an address with a password in it.
  const shown = secretNames.has(name) || raw.includes('@') ? '' : `, and is "${raw}"`;
  mistakes.push(`${name} ${result.error.issues[0]?.message}${shown}.`);
  return undefined;
}
