import {
  addressOf,
  closedOpenOrDomains,
  folder,
  httpAddress,
  issuer,
  longText,
  networks,
  oneOf,
  onOrOff,
  port,
  scopes,
  text,
  wholeNumber,
} from './schemas.ts';
import { defineSettings } from './setting.ts';

const secondsPerDay = 24 * 3600;
const secondsPerYear = 365 * secondsPerDay;

/** 5 GiB: the most that S3 takes in one PUT. */
export const singlePutLimitBytes = 5 * 1024 ** 3;
/** 5 TiB: the largest object that S3 has. */
export const objectLimitBytes = 5 * 1024 ** 4;

/**
 * Every setting: all that is said, read and documented about one is here and nowhere else. Their values, the keys of `Config`, what
 * is told of a mistake, and `docs/settings.md` follow from this table.
 */
export const settings = defineSettings({
  PORT: { sentence: 'Port that the service listens on.', schema: port(), default: '4000' },
  HOST: {
    sentence: 'Address that the service and the embedded store listen on; `0.0.0.0` or `::` for every network.',
    schema: text(),
    default: '127.0.0.1',
  },
  CADIZ_PUBLIC_URL: {
    sentence: 'The address that people use, as their browsers see it.',
    schema: httpAddress(),
    otherwise: '`http://localhost:<PORT>`',
  },
  TRUSTED_PROXIES: {
    sentence:
      'Addresses and networks of reverse proxies, such as `10.0.0.0/8, 127.0.0.1`: only what comes from them is believed in `X-Forwarded-For`. Otherwise a client is the address of its connection.',
    schema: networks(),
  },
  CADIZ_DATA_DIR: {
    sentence: 'Folder of the embedded database, the embedded objects and the generated secrets.',
    schema: folder(),
    default: './data',
  },
  CADIZ_WITHOUT_OBJECTS: {
    sentence:
      'Whether the service starts although the object store has none of the files that the database knows: `on` after a bucket was lost, otherwise `off`.',
    schema: onOrOff(),
    default: 'off',
  },
  CADIZ_SECRET: {
    sentence: 'Signs session cookies; the same on every replica.',
    schema: longText(32),
    otherwise: 'generated into the data folder',
    secret: true,
  },
  CADIZ_SIGN_UP: {
    sentence:
      'Who may make an account: only the `first` person, everybody (`open`), or nobody (`closed`). With `open`, set SMTP_URL as well, so that e-mail addresses are verified.',
    schema: oneOf('first', 'open', 'closed'),
    default: 'first',
  },
  OIDC_ISSUER: {
    sentence:
      'People can sign in with this OpenID Connect issuer: its address as it names itself, over https (http on loopback only). Off when it is not set.',
    schema: issuer(),
    needs: ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
    part: 'oidc',
  },
  OIDC_CLIENT_ID: {
    sentence: 'What the issuer calls this service.',
    schema: text(),
    needs: ['OIDC_ISSUER', 'OIDC_CLIENT_SECRET'],
    part: 'oidc',
  },
  OIDC_CLIENT_SECRET: {
    sentence: 'The secret that it shares with this service.',
    schema: text(),
    secret: true,
    needs: ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
    part: 'oidc',
  },
  OIDC_NAME: {
    sentence: 'What people call the issuer.',
    schema: text(),
    otherwise: 'the host of OIDC_ISSUER',
    part: 'oidc',
  },
  OIDC_SCOPES: {
    sentence: 'What the issuer is asked for, with spaces between.',
    schema: scopes(),
    default: 'openid email profile',
    part: 'oidc',
  },
  OIDC_SIGN_UP: {
    sentence:
      'Who gets an account by signing in with the issuer for the first time, beyond those whom CADIZ_SIGN_UP or an invitation lets in: nobody (`closed`), everybody whom the issuer knows (`open`), or those with an e-mail address of domains such as `example.com, example.org`.',
    schema: closedOpenOrDomains(),
    default: 'closed',
    part: 'oidc',
  },
  PASSKEYS: {
    sentence: 'Whether people can add passkeys and sign in by them, under the host of CADIZ_PUBLIC_URL: `on` or `off`.',
    schema: onOrOff(),
    default: 'on',
  },
  SECOND_FACTOR: {
    sentence:
      'Whether accounts with a password can get a second factor, codes of an app: `on` or `off`. Who has one needs it in any case.',
    schema: onOrOff(),
    default: 'on',
  },
  SMTP_URL: {
    sentence:
      'The mail server that messages to reset a password or verify an e-mail address go through, such as `smtps://user:password@mail.example.com`; `smtp://` uses STARTTLS, and insists on it when there is a password. Without it a password is reset with `npm run users`.',
    schema: addressOf('smtp:', 'smtps:'),
    secret: true,
    needs: ['SMTP_FROM'],
    part: 'mail',
  },
  SMTP_FROM: {
    sentence: 'Who these messages come from, such as `Cadiz <media@example.com>`; needed when SMTP_URL is set.',
    schema: text(),
    needs: ['SMTP_URL'],
    part: 'mail',
  },
  DATABASE_URL: {
    sentence: 'PostgreSQL 15 or newer; the embedded database when it is not set.',
    schema: addressOf('postgres:', 'postgresql:'),
    secret: true,
    part: 'database',
  },
  DATABASE_DIRECT_URL: {
    sentence:
      'The same database past the pooler that DATABASE_URL names, for migrations and for LISTEN; statements to the pooler are then sent unnamed.',
    schema: addressOf('postgres:', 'postgresql:'),
    secret: true,
    needs: ['DATABASE_URL'],
    part: 'database',
  },
  DATABASE_POOL_SIZE: {
    sentence: 'Connections to PostgreSQL at the most, for each process.',
    schema: wholeNumber(1, 1000),
    default: '10',
    part: 'database',
  },
  S3_ENDPOINT: {
    sentence: 'The object store, as the service reaches it; the embedded store when it is not set.',
    schema: httpAddress(),
    needs: ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
    part: 'objectStore',
  },
  S3_REGION: { sentence: 'Its region.', schema: text(), default: 'us-east-1', part: 'objectStore' },
  S3_BUCKET: {
    sentence: 'Its bucket; made at start when it does not exist.',
    schema: text(),
    needs: ['S3_ENDPOINT'],
    part: 'objectStore',
  },
  S3_ACCESS_KEY_ID: { sentence: 'Its access key.', schema: text(), needs: ['S3_ENDPOINT'], part: 'objectStore' },
  S3_SECRET_ACCESS_KEY: {
    sentence: 'Its secret key.',
    schema: text(),
    secret: true,
    needs: ['S3_ENDPOINT'],
    part: 'objectStore',
  },
  S3_UPLOAD_ACCESS_KEY_ID: {
    sentence: 'A second access key, which may only write: the addresses of uploads are then signed with this one.',
    schema: text(),
    otherwise: '= S3_ACCESS_KEY_ID',
    needs: ['S3_ENDPOINT', 'S3_UPLOAD_SECRET_ACCESS_KEY'],
    part: 'objectStore',
  },
  S3_UPLOAD_SECRET_ACCESS_KEY: {
    sentence: 'The secret key of that second access key.',
    schema: text(),
    otherwise: '= S3_SECRET_ACCESS_KEY',
    secret: true,
    needs: ['S3_ENDPOINT', 'S3_UPLOAD_ACCESS_KEY_ID'],
    part: 'objectStore',
  },
  S3_PUBLIC_ENDPOINT: {
    sentence:
      'The object store as clients reach it; presigned addresses start with this. For the embedded store: the host of CADIZ_PUBLIC_URL with STORE_PORT.',
    schema: httpAddress(),
    otherwise: '= S3_ENDPOINT',
    part: 'objectStore',
  },
  STORE_PORT: { sentence: 'Port of the embedded object store.', schema: port(), default: '4001', part: 'objectStore' },
  STORE_ACCESS_KEY_ID: {
    sentence: 'Access key of the embedded store, to point an S3 tool at it.',
    schema: text(),
    otherwise: 'generated into the data folder',
    part: 'objectStore',
  },
  STORE_SECRET_ACCESS_KEY: {
    sentence: 'Secret key of the embedded store.',
    schema: text(),
    otherwise: 'generated into the data folder',
    secret: true,
    part: 'objectStore',
  },
  PRESIGN_TTL_SECONDS: {
    sentence: 'How long a presigned address lives.',
    schema: wholeNumber(1, 7 * secondsPerDay),
    default: '900',
  },
  RECORD_DEADLINE_SECONDS: {
    sentence: 'How long after its presign an upload can be recorded; longer than PRESIGN_TTL_SECONDS.',
    schema: wholeNumber(1, secondsPerYear),
    default: '86400',
  },
  JANITOR_INTERVAL_SECONDS: {
    sentence:
      'How often the service looks for what has to go: objects that nobody recorded, abandoned uploads, what has left the trash.',
    schema: wholeNumber(1, secondsPerDay),
    default: '600',
  },
  JANITOR_MARGIN_SECONDS: {
    sentence:
      'How much longer than RECORD_DEADLINE_SECONDS an object without a row is left alone; longer than the clocks of the processes differ.',
    schema: wholeNumber(1, secondsPerYear),
    default: '3600',
  },
  RECONCILE_INTERVAL_SECONDS: {
    sentence: 'How often all objects of each project are compared with its files.',
    schema: wholeNumber(60, secondsPerYear),
    default: '604800',
  },
  MAX_FILE_SIZE_BYTES: {
    sentence:
      'The largest file. When it is not set, a single PUT takes 5 GiB and an upload in parts 5 TiB, which is what S3 takes at most.',
    schema: wholeNumber(0, objectLimitBytes),
  },
  UPLOAD_DEADLINE_SECONDS: {
    sentence: 'How long after its beginning an upload in parts can be completed. Afterwards its parts are removed.',
    schema: wholeNumber(60, secondsPerYear),
    default: '604800',
  },
  TRASH_RETENTION_DAYS: {
    sentence: 'How long what was deleted can be restored before it goes for good.',
    schema: wholeNumber(1, 3650),
    default: '30',
  },
  AUDIT_RETENTION_DAYS: { sentence: 'How long audit events are kept.', schema: wholeNumber(1, 36_500), default: '400' },
  PROJECT_CREATION: {
    sentence: 'Who may make projects: `everybody` who has an account, or only the `owner` of the service.',
    schema: oneOf('everybody', 'owner'),
    default: 'everybody',
  },
  PROJECT_QUOTA_BYTES: {
    sentence:
      'The quota of a new project that names none, and the most that anybody but the owner of the service can give a project. Existing projects keep what they have. No limit when it is not set.',
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  PROJECTS_PER_ACCOUNT: {
    sentence: 'How many projects that exist one account can have made.',
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
      'How many ZIP archives each process makes at once; at most half of them for one account, and half for one project.',
    schema: wholeNumber(1, 1000),
    default: '4',
  },
  RATE_LIMITS: {
    sentence: 'Whether requests are counted and too many of them refused: `on` or `off`.',
    schema: onOrOff(),
    default: 'on',
    part: 'rateLimits',
  },
  RATE_LIMIT_UPLOADS: {
    sentence:
      'How many requests for uploads (presign, record, uploads in parts) each API key and each session may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '60000',
    part: 'rateLimits',
  },
  RATE_LIMIT_READS: {
    sentence: 'How many requests that only read each API key and each session may make in a minute.',
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
    sentence: 'How many requests without an accepted credential each address may make in a minute.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '6000',
    part: 'rateLimits',
  },
  RATE_LIMIT_INVALID_KEYS: {
    sentence:
      'How many unknown API keys each address may send in a minute, and how often a dead one may be sent. Beyond that the answer is 429; a good key is accepted all the same.',
    schema: wholeNumber(1, 1_000_000_000),
    default: '60',
    part: 'rateLimits',
  },
  METRICS_PORT: {
    sentence: 'Port of the Prometheus metrics, on HOST under `/metrics`; off when it is not set.',
    schema: port(),
  },
  LOG_LEVEL: {
    sentence: 'How much is logged: `error`, `warn`, `info` or `debug` (one line a request).',
    schema: oneOf('error', 'warn', 'info', 'debug'),
    default: 'info',
  },
  DRAIN_DELAY_SECONDS: {
    sentence:
      'How long the service goes on as before when it is told to stop, but for `GET /readyz`, which says 503: long enough for a proxy to notice and to send nothing more.',
    schema: wholeNumber(0, 3600),
    otherwise: '7, or 0 when standard output is a terminal',
  },
  DRAIN_SECONDS: {
    sentence: 'How long requests and uploads that are under way then may take to finish.',
    schema: wholeNumber(0, 3600),
    default: '30',
  },
});

export type SettingName = keyof typeof settings;
