import { resolve } from 'node:path';
import type { DatabaseSettings } from '../db/open.ts';
import type { MailSettings } from '../mail/mailer.ts';
import type { RateLimitSettings } from '../rate-limits/rate-limits.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import type { Values } from './setting.ts';
import { objectLimitBytes, type settings, singlePutLimitBytes } from './table.ts';

export type SettingValues = Values<typeof settings>;

/** Signing in with an OpenID Connect issuer. */
export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The name of the issuer, as shown to people. */
  name: string;
  scopes: readonly string[];
  /** Who is given an account at the first sign-in; a list contains domains in lower case. */
  signUp: 'closed' | 'open' | readonly string[];
}

export interface EmbeddedStoreSettings {
  kind: 'embedded';
  port: number;
  dataDir: string;
  publicEndpoint: string;
  /** If undefined, the keys are generated into the data folder. */
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
}

export interface OtherStoreSettings extends Omit<S3Settings, 'presignTtlSeconds'> {
  kind: 's3';
}

// The settings that make up a part need each other (`needs` in the table), so either all of them are set or none.

export function toOidc(values: SettingValues): OidcSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = values;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    name: values.OIDC_NAME ?? new URL(issuer).host,
    scopes: values.OIDC_SCOPES,
    signUp: values.OIDC_SIGN_UP,
  };
}

export function toMail({ SMTP_URL: url, SMTP_FROM: from }: SettingValues): MailSettings | undefined {
  return url === undefined || from === undefined ? undefined : { url, from };
}

/** PostgreSQL if there is a URL, otherwise the embedded database in the data folder. */
export function toDatabase(values: SettingValues): DatabaseSettings {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_POOL_SIZE: maxConnections } = values;
  const listings = { atOnce: values.PROJECT_LISTINGS_AT_ONCE, waiting: values.PROJECT_LISTINGS_WAITING };
  if (url === undefined) return { kind: 'embedded', dataDir: resolve(values.CADIZ_DATA_DIR, 'database'), listings };
  const projectConnections = values.PROJECT_CONNECTIONS;
  const poolerPrepares = values.DATABASE_POOLER_PREPARES;
  return { kind: 'postgres', url, directUrl, poolerPrepares, maxConnections, listings, projectConnections };
}

/** The S3 of the settings if they name one, otherwise the embedded store. */
export function toObjectStore(values: SettingValues): EmbeddedStoreSettings | OtherStoreSettings {
  return toOtherStore(values) ?? toEmbeddedStore(values);
}

function toOtherStore(values: SettingValues): OtherStoreSettings | undefined {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket } = values;
  const own = toKeyPair(values.S3_ACCESS_KEY_ID, values.S3_SECRET_ACCESS_KEY);
  if (endpoint === undefined || bucket === undefined || own === undefined) return undefined;
  return {
    kind: 's3',
    endpoint,
    publicEndpoint: values.S3_PUBLIC_ENDPOINT ?? endpoint,
    region: values.S3_REGION,
    bucket,
    ...own,
    upload: toKeyPair(values.S3_UPLOAD_ACCESS_KEY_ID, values.S3_UPLOAD_SECRET_ACCESS_KEY),
  };
}

function toKeyPair(accessKeyId: string | undefined, secretAccessKey: string | undefined) {
  return accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
}

function toEmbeddedStore(values: SettingValues): EmbeddedStoreSettings {
  const { STORE_PORT: port } = values;
  return {
    kind: 'embedded',
    port,
    dataDir: resolve(values.CADIZ_DATA_DIR, 'objects'),
    publicEndpoint: values.S3_PUBLIC_ENDPOINT ?? `http://${new URL(toPublicUrl(values)).hostname}:${port}`,
    accessKeyId: values.STORE_ACCESS_KEY_ID,
    secretAccessKey: values.STORE_SECRET_ACCESS_KEY,
  };
}

/** The URL that people use, without a slash at its end. */
export function toPublicUrl({ CADIZ_PUBLIC_URL, PORT }: SettingValues): string {
  return CADIZ_PUBLIC_URL ?? `http://localhost:${PORT}`;
}

/** The size limits of a single PUT, and of an upload in parts. */
export function toSizeLimits({ MAX_FILE_SIZE_BYTES: limit = objectLimitBytes }: SettingValues) {
  return { maxFileSizeBytes: Math.min(limit, singlePutLimitBytes), maxUploadSizeBytes: limit };
}

/** Requests a minute; undefined if nothing is limited. */
export function toRateLimits(values: SettingValues): RateLimitSettings | undefined {
  if (!values.RATE_LIMITS) return undefined;
  return {
    uploads: values.RATE_LIMIT_UPLOADS,
    reads: values.RATE_LIMIT_READS,
    changes: values.RATE_LIMIT_CHANGES,
    address: values.RATE_LIMIT_ADDRESS,
    'invalid-keys': values.RATE_LIMIT_INVALID_KEYS,
  };
}
