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

/** What is made of several settings, or of more than the settings. */
interface Composed {
  publicUrl: string;
  /** Whose `X-Forwarded-For` is believed. */
  trustedProxies: BlockList;
  /** Undefined where nobody signs in with an issuer. */
  oidc: OidcSettings | undefined;
  /** Where e-mail goes out; undefined where none does. */
  mail: MailSettings | undefined;
  database: DatabaseSettings;
  objectStore: EmbeddedStoreSettings | OtherStoreSettings;
  /** Of a single PUT. */
  maxFileSizeBytes: number;
  /** Of an upload in parts. */
  maxUploadSizeBytes: number;
  /** Undefined when nothing is limited. */
  rateLimits: RateLimitSettings | undefined;
  /** How long a service that stops is still listening. */
  drainDelaySeconds: number;
}

type CamelCase<S extends string> = S extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<S>;

/** The key of a setting: its name in camelCase, without the service's own name. */
type Key<Name extends string> = Name extends `CADIZ_${infer Rest}` ? CamelCase<Rest> : CamelCase<Name>;

/** Settings with a key of their own. */
type Own = {
  [Name in SettingName as (typeof settings)[Name] extends { part: string } ? never : Key<Name>]: SettingValues[Name];
};

/** What the service is told: each setting by its name in camelCase, but for those that something is composed of. */
export interface Config extends Omit<Own, keyof Composed>, Composed {}

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
  environment: Environment,
  { fromFile = [], warn = () => undefined, isTerminal = false }: SettingsContext = {},
): Config {
  const read = readValues(settings, environment, fromFile);
  for (const sentence of read.warnings) warn(sentence);
  const mistakes = [...read.mistakes, ...findContradictions(read.values)];
  if (mistakes.length > 0) throw new InvalidSettings(mistakes);
  const values = read.values as SettingValues;
  return {
    ...toOwn(values),
    ...toSizeLimits(values),
    publicUrl: toPublicUrl(values),
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
