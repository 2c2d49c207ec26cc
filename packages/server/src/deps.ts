import type { Logger } from 'pino';
import type { Access } from './access/access.ts';
import type { AccessChanges } from './access/access-changes.ts';
import type { ApiKeys } from './access/find-api-key.ts';
import type { Database } from './db/open.ts';
import type { ArchiveLinks } from './features/downloads/archive-links.ts';
import type { ArchiveSlots } from './features/downloads/archive-slots.ts';
import type { Issuer } from './identity/oidc/issuer.ts';
import type { Passwords } from './identity/passwords/passwords.ts';
import type { SignInLimits } from './identity/sign-in-limits.ts';
import type { Setup } from './identity/sign-up/setup.ts';
import type { LimitsCache } from './limits/find-limits.ts';
import type { PresignedBytes } from './limits/presigned-bytes.ts';
import type { Mailer } from './mail/mailer.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';
import type { Config } from './settings/config.ts';
import type { ObjectStore } from './store/object-store.ts';
import type { Health } from './telemetry/health.ts';
import type { Answered } from './telemetry/observed.ts';
import type { Handover } from './work/work.ts';

/** What the service does by itself, again and again; `jobs/jobs.ts` says what each is. */
export type JobName = 'adopt' | 'sweep' | 'multiparts' | 'trash' | 'reconcile' | 'audit' | 'expired' | 'tidy';

/** What a feature may reach. Everything that a test wants otherwise comes in through here. */
export interface Deps {
  config: Config;
  db: Database;
  objects: ObjectStore;
  /** Of the service: signs cookies, and seals second factors. */
  secret: string;
  /** What the first sign-up may need; undefined when the service started with an account. */
  setup: Setup | undefined;
  passwords: Passwords;
  /** How often passwords and codes may be guessed. */
  signInLimits: SignInLimits;
  /** The OpenID Connect issuer, where one is set. */
  issuer: Issuer | undefined;
  apiKeys: ApiKeys;
  access: Access;
  /** To be told of everything that takes access away. */
  accessChanges: AccessChanges;
  /** What each project takes, and how much it stores. */
  limits: LimitsCache;
  /** What addresses were given out for, and has not been recorded. */
  presigned: PresignedBytes;
  /** How often everybody may ask. */
  rateLimits: RateLimits;
  archiveLinks: ArchiveLinks;
  archiveSlots: ArchiveSlots;
  /** Does soon, in this process, what a request has just written down to be done later. */
  work: Handover;
  /** Undefined where no mail server is set. */
  mail: Mailer | undefined;
  log: Logger;
  /** Told of every answer, for metrics and the request log. */
  observe: (answer: Answered) => void;
  /** How the database and the object store are. */
  health: Health;
  /** Whether the service is stopping. */
  draining: () => boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}
