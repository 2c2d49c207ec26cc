import { BlockList } from 'node:net';
import type { DatabaseSettings } from '../db/open.ts';
import type { MailSettings } from '../mail/mailer.ts';
import type { RateLimitSettings } from '../rate-limits/rate-limits.ts';
import { findContradictions } from './contradictions.ts';
import {
  type EmbeddedStoreSettings,
  type OidcSettings,
  type OtherStoreSettings,
  type SettingValues,
  toDatabase,
  toMail,
  toObjectStore,
  toOidc,
  toPublicUrl,
  toRateLimits,
  toSizeLimits,
} from './parts.ts';
import { type Environment, readValues } from './read-values.ts';
import { type SettingName, settings } from './table.ts';

export type { EmbeddedStoreSettings, OidcSettings, OtherStoreSettings } from './parts.ts';

/** What is composed of several settings, or depends on more than its own setting. */
interface Composed {
  publicUrl: string;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: BlockList;
  /** Undefined if nobody can sign in with an issuer. */
  oidc: OidcSettings | undefined;
  /** The outgoing mail server; undefined if the service sends no e-mail. */
  mail: MailSettings | undefined;
  database: DatabaseSettings;
  objectStore: EmbeddedStoreSettings | OtherStoreSettings;
  /** The size limit of a single PUT. */
  maxFileSizeBytes: number;
  /** The size limit of an upload in parts. */
  maxUploadSizeBytes: number;
  /** Undefined if nothing is limited. */
  rateLimits: RateLimitSettings | undefined;
  /** How long a stopping service keeps listening. */
  drainDelaySeconds: number;
}

type CamelCase<S extends string> = S extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<S>;

/** The key of a setting: its name in camelCase, without the prefix `CADIZ_`. */
type Key<Name extends string> = Name extends `CADIZ_${infer Rest}` ? CamelCase<Rest> : CamelCase<Name>;

/** The settings that have their own key. */
type Own = {
  [Name in SettingName as (typeof settings)[Name] extends { part: string } ? never : Key<Name>]: SettingValues[Name];
};

/** The configuration: each setting under its name in camelCase, except those that make up a part. */
export interface Config extends Omit<Own, keyof Composed>, Composed {}

/** What else there is to know when reading the settings. */
export interface SettingsContext {
  /** The names that the `.env` file sets. */
  fromFile?: Iterable<string>;
  /** Receives one sentence for each variable that looks like a setting but is not; this stops nothing. */
  warn?: (sentence: string) => void;
  /** Whether a person is watching, who should not have to wait for a drain delay. */
  isTerminal?: boolean;
}

/** Every mistake in the settings, reported together. */
export class InvalidSettings extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'InvalidSettings';
    this.mistakes = mistakes;
  }
}

/**
 * Reads the configuration from the environment. An empty variable counts as not set.
 * @throws InvalidSettings with one sentence for each mistake
 */
export function readConfig(
  environment: Environment,
  { fromFile = [], warn = () => undefined, isTerminal = false }: SettingsContext = {},
): Config {
  const read = readValues(settings, environment, fromFile);
  for (const sentence of read.warnings) warn(sentence);
  const mistakes = [...read.mistakes, ...findContradictions(read.values)];
  if (mistakes.length > 0) throw new InvalidSettings(mistakes);
  const values = read.values as SettingValues;
  const publicUrl = toPublicUrl(values);
  if (new URL(publicUrl).pathname !== '/') {
    warn(
      'CADIZ_PUBLIC_URL has a path: the API works below it if a proxy removes it from every request, but the console does not.',
    );
  }
  return {
    ...toOwn(values),
    ...toSizeLimits(values),
    publicUrl,
    trustedProxies: values.TRUSTED_PROXIES ?? new BlockList(),
    oidc: toOidc(values),
    mail: toMail(values),
    database: toDatabase(values),
    objectStore: toObjectStore(values),
    rateLimits: toRateLimits(values),
    drainDelaySeconds: values.DRAIN_DELAY_SECONDS ?? (isTerminal ? 0 : 7),
  };
}

function toOwn(values: SettingValues): Own {
  const names = (Object.keys(settings) as SettingName[]).filter((name) => !('part' in settings[name]));
  return Object.fromEntries(names.map((name) => [toKey(name), values[name]])) as unknown as Own;
}

function toKey(name: SettingName): string {
  const words = name.replace(/^CADIZ_/, '').toLowerCase();
  return words.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
