import {
  closedOpenOrDomains,
  folder,
  httpUrl,
  issuer,
  longText,
  networks,
  oneOf,
  onOrOff,
  port,
  postgresUrl,
  ratio,
  scopes,
  text,
  urlOf,
  wholeNumber,
} from './schemas.ts';
import { defineSettings } from './setting.ts';

const secondsPerDay = 24 * 3600;
const secondsPerYear = 365 * secondsPerDay;

/** 5 GiB: the most that S3 accepts in one PUT. */
export const singlePutLimitBytes = 5 * 1024 ** 3;
/** 5 TiB: the largest object on S3. */
export const objectLimitBytes = 5 * 1024 ** 4;

/**
 * Every setting, and everything there is to know about it. Its value, its key in `Config`, the error messages about it and
 * `docs/settings.md` all follow from this table.
 */
export const settings = defineSettings({
  PORT: { sentence: 'The port that the service listens on.', schema: port(), default: '4000' },
  HOST: {
    sentence: 'The IP address that the service and the embedded store listen on; `0.0.0.0` or `::` for all networks.',
    schema: text(),
    default: '127.0.0.1',
  },
  CADIZ_PUBLIC_URL: {
    sentence: 'The URL of the service as browsers see it, without a path: the console does not work below one.',
    schema: httpUrl(),
    otherwise: '`http://localhost:<PORT>`',
  },
  WORKERS: {
    sentence:
      'How many processes serve requests; about one for each core. More than one needs DATABASE_URL and S3_ENDPOINT. Limits that are for each process are for each of them.',
    schema: wholeNumber(1, 256),
    default: '1',
  },
  TRUSTED_PROXIES: {
    sentence:
      'The IP addresses and networks of reverse proxies, such as `10.0.0.0/8, 127.0.0.1`. `X-Forwarded-For` is only trusted if it comes from one of them; otherwise the IP address of a client is that of its connection.',
    schema: networks(),
  },
  CADIZ_DATA_DIR: {
    sentence: 'The folder of the embedded database, the embedded object store and the generated secrets.',
    schema: folder(),
    default: './data',
  },
  CADIZ_WITHOUT_OBJECTS: {
    sentence:
      'Whether to start even if the object store has none of the files in the database: `on` after the loss of a bucket, otherwise `off`.',
    schema: onOrOff(),
    default: 'off',
  },
  CADIZ_SECRET: {
    sentence: 'The secret that signs session cookies; it must be the same in every process.',
    schema: longText(32),
    otherwise: 'generated into the data folder',
    secret: true,
  },
  CADIZ_SIGN_UP: {
    sentence:
      'Who may create an account: only the `first` person, everybody (`open`), or nobody (`closed`). With `open`, set SMTP_URL as well, so that e-mail addresses are verified.',
    schema: oneOf('first', 'open', 'closed'),
    default: 'first',
  },
  OIDC_ISSUER: {
    sentence:
      'The OpenID Connect issuer that people can sign in with: its URL exactly as the issuer states it, with https (http only on loopback). If not set, this way of signing in is off.',
    schema: issuer(),
    needs: ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
    part: 'oidc',
  },
  OIDC_CLIENT_ID: {
    sentence: 'The client id of this service at the issuer.',
    schema: text(),
    needs: ['OIDC_ISSUER', 'OIDC_CLIENT_SECRET'],
    part: 'oidc',
  },
  OIDC_CLIENT_SECRET: {
    sentence: 'The client secret of this service at the issuer.',
    schema: text(),
    secret: true,
    needs: ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
    part: 'oidc',
  },
  OIDC_NAME: {
    sentence: 'The name of the issuer, as shown to people.',
    schema: text(),
    otherwise: 'the host of OIDC_ISSUER',
    part: 'oidc',
  },
  OIDC_SCOPES: {
    sentence: 'The scopes to request from the issuer, separated by spaces.',
    schema: scopes(),
    default: 'openid email profile',
    part: 'oidc',
  },
  OIDC_SIGN_UP: {
    sentence:
      'Who gets an account by signing in with the issuer for the first time, besides those whom CADIZ_SIGN_UP or an invitation lets in: nobody (`closed`), everybody whom the issuer knows (`open`), or people with an e-mail address in certain domains, such as `example.com, example.org`.',
    schema: closedOpenOrDomains(),
    default: 'closed',
    part: 'oidc',
  },
  PASSKEYS: {
    sentence: 'Whether people can add passkeys and sign in with them, for the host of CADIZ_PUBLIC_URL: `on` or `off`.',
    schema: onOrOff(),
    default: 'on',
  },
  SECOND_FACTOR: {
    sentence:
      'Whether accounts with a password can add a second factor (codes from an app): `on` or `off`. Accounts that already have one always need it.',
    schema: onOrOff(),
    default: 'on',
  },
  SMTP_URL: {
    sentence:
      'The mail server for messages that reset a password or verify an e-mail address, such as `smtps://user:password@mail.example.com`; `smtp://` uses STARTTLS, and insists on it if there is a password. If not set, passwords can only be reset with `npm run users`.',
    schema: urlOf('smtp:', 'smtps:'),
    secret: true,
    needs: ['SMTP_FROM'],
    part: 'mail',
  },
  SMTP_FROM: {
    sentence: 'The sender of these messages, such as `Cadiz <media@example.com>`; required if SMTP_URL is set.',
    schema: text(),
    needs: ['SMTP_URL'],
    part: 'mail',
  },
  DATABASE_URL: {
    sentence: 'The database, PostgreSQL 15 or newer. If not set, the embedded database is used.',
    schema: postgresUrl(),
    secret: true,
    part: 'database',
  },
  DATABASE_DIRECT_URL: {
    sentence:
      'The same database without the pooler in DATABASE_URL, for migrations and LISTEN. If it is set, statements sent to the pooler are unnamed, unless DATABASE_POOLER_PREPARES is on.',
    schema: postgresUrl(),
    secret: true,
    needs: ['DATABASE_URL'],
    part: 'database',
  },
  DATABASE_POOLER_PREPARES: {
    sentence:
      'Whether the pooler in DATABASE_URL keeps prepared statements for its clients, as PgBouncer does from 1.21 with `max_prepared_statements`.',
    schema: onOrOff(),
    default: 'off',
    needs: ['DATABASE_DIRECT_URL'],
    part: 'database',
  },
  DATABASE_POOL_SIZE: {
    sentence: 'The size of the pool of connections to PostgreSQL of each process, which has up to seven more.',
    schema: wholeNumber(1, 1000),
    default: '10',
    part: 'database',
  },
  S3_ENDPOINT: {
    sentence: 'The URL at which the service reaches the object store. If not set, the embedded store is used.',
    schema: httpUrl(),
    needs: ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
    part: 'objectStore',
  },
  S3_REGION: { sentence: 'The region of the object store.', schema: text(), default: 'us-east-1', part: 'objectStore' },
  S3_BUCKET: {
    sentence: 'The bucket; created at the start if it does not exist.',
    schema: text(),
    needs: ['S3_ENDPOINT'],
    part: 'objectStore',
  },
  S3_ACCESS_KEY_ID: {
    sentence: 'The access key id for the object store.',
    schema: text(),
    needs: ['S3_ENDPOINT'],
    part: 'objectStore',
  },
  S3_SECRET_ACCESS_KEY: {
    sentence: 'The secret access key for the object store.',
    schema: text(),
    secret: true,
    needs: ['S3_ENDPOINT'],
    part: 'objectStore',
  },
  S3_UPLOAD_ACCESS_KEY_ID: {
    sentence:
      'The id of a second access key that may only write. If it is set, URLs for uploads are signed with this key.',
    schema: text(),
    otherwise: '= S3_ACCESS_KEY_ID',
    needs: ['S3_ENDPOINT', 'S3_UPLOAD_SECRET_ACCESS_KEY'],
    part: 'objectStore',
  },
  S3_UPLOAD_SECRET_ACCESS_KEY: {
    sentence: 'The secret of that second access key.',
    schema: text(),
    otherwise: '= S3_SECRET_ACCESS_KEY',
    secret: true,
    needs: ['S3_ENDPOINT', 'S3_UPLOAD_ACCESS_KEY_ID'],
    part: 'objectStore',
  },
  S3_PUBLIC_ENDPOINT: {
    sentence:
      'The URL at which clients reach the object store; presigned URLs start with it. For the embedded store, the default is the host of CADIZ_PUBLIC_URL with STORE_PORT.',
    schema: httpUrl(),
    otherwise: '= S3_ENDPOINT',
    part: 'objectStore',
  },
  STORE_PORT: {
    sentence: 'The port of the embedded object store.',
    schema: port(),
    default: '4001',
    part: 'objectStore',
  },
  STORE_ACCESS_KEY_ID: {
    sentence: 'The access key id of the embedded store, for use with S3 tools.',
    schema: text(),
    otherwise: 'generated into the data folder',
    part: 'objectStore',
  },
  STORE_SECRET_ACCESS_KEY: {
    sentence: 'The secret access key of the embedded store.',
    schema: text(),
    otherwise: 'generated into the data folder',
    secret: true,
    part: 'objectStore',
  },
  PRESIGN_TTL_SECONDS: {
    sentence: 'How long a presigned upload URL is valid.',
    schema: wholeNumber(1, 7 * secondsPerDay),
    default: '900',
  },
  RECORD_DEADLINE_SECONDS: {
    sentence: 'How long after presign an upload can be recorded; must be longer than PRESIGN_TTL_SECONDS.',
    schema: wholeNumber(1, secondsPerYear),
    default: '86400',
  },
  JANITOR_INTERVAL_SECONDS: {
    sentence:
      'How often the service sweeps unrecorded objects and abandoned uploads, and purges what has been in the trash long enough.',
    schema: wholeNumber(1, secondsPerDay),
    default: '600',
  },
  JANITOR_MARGIN_SECONDS: {
    sentence:
      'How much longer than RECORD_DEADLINE_SECONDS an unrecorded object is kept; must exceed the clock difference between processes.',
    schema: wholeNumber(1, secondsPerYear),
    default: '3600',
  },
  RECONCILE_INTERVAL_SECONDS: {
    sentence: 'How often the objects of each project are compared with its files.',
    schema: wholeNumber(60, secondsPerYear),
    default: '604800',
  },
  MAX_FILE_SIZE_BYTES: {
    sentence:
      'The size of the largest file. If not set, the limits of S3 apply: 5 GiB in a single PUT, and 5 TiB in parts.',
    schema: wholeNumber(0, objectLimitBytes),
  },
  UPLOAD_DEADLINE_SECONDS: {
    sentence: 'How long after its start an upload in parts can be completed. After that, its parts are removed.',
    schema: wholeNumber(60, secondsPerYear),
    default: '604800',
  },
  TRASH_RETENTION_DAYS: {
    sentence: 'How long deleted files and folders can be restored before they are purged.',
    schema: wholeNumber(1, 3650),
    default: '30',
  },
  AUDIT_RETENTION_DAYS: { sentence: 'How long audit events are kept.', schema: wholeNumber(1, 36_500), default: '400' },
  EVENT_RETENTION_DAYS: {
    sentence: 'How long events can be read from the feed of a project, and delivered again by its webhooks.',
    schema: wholeNumber(1, 3650),
    default: '30',
  },
  STORE_EVENTS_SECRET: {
    sentence:
      'The secret with which the object store tells the service what has arrived (`POST /api/store-events`). If not set, such requests are refused.',
    schema: longText(16),
    secret: true,
  },
  WEBHOOK_ALLOW_NETWORKS: {
    sentence:
      'IP addresses and networks that webhooks may deliver to although they are not public, such as `10.0.0.0/8, 127.0.0.1`; also over `http://`. Every owner of a project can make the service send requests there.',
    schema: networks(),
  },
  PROJECT_CREATION: {
    sentence: 'Who may create projects: `everybody` with an account, or only the `owner` of the service.',
    schema: oneOf('everybody', 'owner'),
    default: 'everybody',
  },
  PROJECT_QUOTA_BYTES: {
    sentence:
      'The default quota of new projects, and the largest that anyone but the owner of the service can give a project. Existing projects keep their quota. If not set, there is no limit.',
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  PROJECTS_PER_ACCOUNT: {
    sentence: 'How many existing projects one account can have created.',
    schema: wholeNumber(0, 1_000_000_000),
    default: '1000',
  },
  API_KEYS_PER_ACCOUNT: {
    sentence: 'How many API keys that are neither revoked nor expired one account can have.',
    schema: wholeNumber(0, 1_000_000_000),
    default: '1000',
  },
  ARCHIVES_AT_ONCE: {
    sentence:
      'How many ZIP archives each process makes at once; at most half of them are for one account, and half for one project.',
    schema: wholeNumber(1, 1000),
    default: '4',
  },
  PROJECT_LISTINGS_AT_ONCE: {
    sentence:
      'How many pages of listings and searches each process reads at once for one project; of all projects together, it reads two.',
    schema: wholeNumber(1, 2),
    default: '2',
  },
  PROJECT_LISTINGS_WAITING: {
    sentence:
      'How many statements of listings and searches of one project can wait in each process, before further ones are answered `too_many_listings`; of all projects together, 256 can.',
    schema: wholeNumber(1, 256),
    default: '128',
  },
  PROJECT_CONNECTIONS: {
    sentence:
      'How many of DATABASE_POOL_SIZE connections the changes of one project can hold at once in each process; further ones wait. If not set, half of them.',
    schema: wholeNumber(1, 1000),
    needs: ['DATABASE_URL'],
    part: 'database',
  },
  LINKS_STREAM: {
    sentence:
      'Whether the bytes of links go through the service: `on`, or `off` to redirect to signed URLs of the object store.',
    schema: onOrOff(),
    default: 'off',
  },
  LINKS_CACHE_SECONDS: {
    sentence:
      'How long browsers and CDNs may keep what a link answers, and so may serve it after the link was deleted. A redirect is kept for at most 240.',
    schema: wholeNumber(0, secondsPerYear),
    default: '60',
  },
  LINKS_AT_ONCE: {
    sentence:
      'How many files each process sends at once with LINKS_STREAM; at most half of them go to one IP address, and half come from one project.',
    schema: wholeNumber(1, 10_000),
    default: '32',
  },
  IMAGES: {
    sentence:
      'Whether variants of images are made: `on` or `off`. It takes the optional package `sharp`, which `npm ci` installs where it can.',
    schema: onOrOff(),
    default: 'on',
  },
  IMAGES_VIDEO: {
    sentence:
      'Whether posters of videos (MP4, QuickTime, WebM, Matroska) are made: `on` or `off`. It takes the program `ffmpeg`, which decodes what strangers upload.',
    schema: onOrOff(),
    default: 'off',
  },
  IMAGES_SVG: {
    sentence: 'Whether variants of SVG files of up to a megabyte are made: `on` or `off`.',
    schema: onOrOff(),
    default: 'off',
  },
  IMAGES_MEMORY_BYTES: {
    sentence:
      'What the processes that read and make images may use together. What would need more is refused: with the default, AVIF of more than 27 megapixels.',
    schema: wholeNumber(256 * 1024 * 1024, 2 ** 40),
    default: String(600 * 1024 * 1024),
  },
  RATE_LIMITS: {
    sentence: 'Whether requests are counted and excessive ones refused: `on` or `off`.',
    schema: onOrOff(),
    default: 'on',
    part: 'rateLimits',
  },
  RATE_LIMIT_UPLOADS: {
    sentence:
      'How many upload requests (presign, record, uploads in parts) each API key and each session may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '60000',
    part: 'rateLimits',
  },
  RATE_LIMIT_READS: {
    sentence: 'How many read-only requests each API key and each session may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '60000',
    part: 'rateLimits',
  },
  RATE_LIMIT_CHANGES: {
    sentence: 'How many other requests each API key and each session may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '12000',
    part: 'rateLimits',
  },
  RATE_LIMIT_ADDRESS: {
    sentence: 'How many requests without a valid credential each IP address may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '6000',
    part: 'rateLimits',
  },
  RATE_LIMIT_INVALID_KEYS: {
    sentence:
      'How many unknown API keys each IP address may send in a minute, and how often a revoked or expired one may be sent. Beyond that the answer is 429; a valid key is still accepted.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '60',
    part: 'rateLimits',
  },
  METRICS_PORT: {
    sentence:
      'The port of the Prometheus metrics, on HOST under `/metrics`. With WORKERS, each has a port of its own: this one and those after it. If not set, there are no metrics.',
    schema: port(),
  },
  LOG_LEVEL: {
    sentence: 'How much to log: `error`, `warn`, `info` or `debug` (one line for each request).',
    schema: oneOf('error', 'warn', 'info', 'debug'),
    default: 'info',
  },
  LOG_SLOW_MILLISECONDS: {
    sentence: 'A request whose answer takes longer than this gets a line in the log.',
    schema: wholeNumber(1, 3_600_000),
    default: '1000',
  },
  LOG_SAMPLE: {
    sentence:
      'How many of the requests that neither failed nor were slow get a line in the log: `100` for one in a hundred, `1` for all, `0` for none.',
    schema: wholeNumber(0, 1_000_000_000),
    default: '0',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    sentence:
      'The base URL of an OpenTelemetry collector, such as `http://localhost:4318`. Traces are sent to it as JSON, if the SDK is installed ([logs and traces](logs-and-traces.md)). If not set, no spans are made.',
    schema: httpUrl(),
  },
  TRACE_RATIO: {
    sentence: 'Which part of requests, jobs and work is traced, from `0` to `1`; `0.01` is one of a hundred.',
    schema: ratio(),
    default: '0',
    needs: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  },
  TRACE_INCOMING_PER_SECOND: {
    sentence:
      'How many requests a second each process traces because their `traceparent` says that they are. Anybody can send that header; `0` ignores it.',
    schema: wholeNumber(0, 100_000),
    default: '10',
    needs: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  },
  DRAIN_DELAY_SECONDS: {
    sentence:
      'How long the service keeps accepting requests after it is told to stop, while `GET /readyz` answers 503: long enough for a proxy to notice and stop sending requests.',
    schema: wholeNumber(0, 3600),
    otherwise: '7, or 0 when standard output is a terminal',
  },
  DRAIN_SECONDS: {
    sentence: 'How long requests and uploads still in progress after that may take to finish.',
    schema: wholeNumber(0, 3600),
    default: '30',
  },
});

export type SettingName = keyof typeof settings;
