import type { ImageMaker } from '@cadiz/images';
import type { Logger } from 'pino';
import type { Access } from './access/access.ts';
import type { AccessChanges } from './access/access-changes.ts';
import type { ApiKeys } from './access/find-api-key.ts';
import type { Tickets } from './access/find-ticket.ts';
import type { Database } from './db/open.ts';
import type { Feed } from './events/feed.ts';
import type { ArchiveLinks } from './features/downloads/archive-links.ts';
import type { LinkTokens } from './features/links/link-tokens.ts';
import type { InsertTogether } from './features/uploads/insert-together.ts';
import type { Issuer } from './identity/oidc/issuer.ts';
import type { Passwords } from './identity/passwords/passwords.ts';
import type { SignInLimits } from './identity/sign-in-limits.ts';
import type { Setup } from './identity/sign-up/setup.ts';
import type { ImageTokens } from './images/image-tokens.ts';
import type { ThumbnailFields } from './images/thumbnail-fields.ts';
import type { LimitsCache } from './limits/find-limits.ts';
import type { PresignedBytes } from './limits/presigned-bytes.ts';
import type { Mailer } from './mail/mailer.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';
import type { StreamSlots } from './serving/stream-slots.ts';
import type { Config } from './settings/config.ts';
import type { ObjectStore } from './store/object-store.ts';
import type { S3Settings } from './store/s3-settings.ts';
import type { AccessLog } from './telemetry/access-log.ts';
import type { Health } from './telemetry/health.ts';
import type { Answered, AttemptOutcome, Mismatch } from './telemetry/observed.ts';
import type { Trace } from './telemetry/trace.ts';
import type { Tracing } from './telemetry/tracing.ts';
import type { WebhookMailLimits } from './webhooks/mail-limits.ts';
import type { HostLookup } from './webhooks/target.ts';
import type { Handover } from './work/work.ts';

/** The jobs that the service runs regularly; `jobs/jobs.ts` says what each one does. */
export type JobName =
  | 'adopt'
  | 'sweep'
  | 'multiparts'
  | 'trash'
  | 'reconcile'
  | 'audit'
  | 'events'
  | 'expired'
  | 'tickets'
  | 'variants'
  | 'images'
  | 'days'
  | 'waits'
  | 'tidy';

/** Everything that a feature may reach. Tests replace parts of it here. */
export interface Deps {
  config: Config;
  db: Database;
  objects: ObjectStore;
  /** How to reach the object store, for the doctor. */
  storeSettings: S3Settings;
  /** The secret of the service: signs cookies, and seals second factors and the secrets of webhooks. */
  secret: string;
  /** What the first sign-up may require; undefined if the service started with an account. */
  setup: Setup | undefined;
  passwords: Passwords;
  /** How often passwords and codes may be tried. */
  signInLimits: SignInLimits;
  /** The OpenID Connect issuer, if one is set. */
  issuer: Issuer | undefined;
  apiKeys: ApiKeys;
  tickets: Tickets;
  access: Access;
  /** Must be notified of every change that takes access away. */
  accessChanges: AccessChanges;
  /** The limits of each project, and how much it stores. */
  limits: LimitsCache;
  /** Bytes for which URLs have been presigned and that have not been recorded yet. */
  presigned: PresignedBytes;
  /** Inserts recorded files into projects without a quota. */
  inserts: InsertTogether;
  /** How many requests each caller and address may make. */
  rateLimits: RateLimits;
  archiveLinks: ArchiveLinks;
  archiveSlots: StreamSlots;
  linkTokens: LinkTokens;
  imageTokens: ImageTokens;
  /** Makes images in processes of its own; undefined if that is switched off, or `sharp` is not installed. */
  images: ImageMaker | undefined;
  /** URLs of thumbnails that have been signed, for listings. */
  thumbnailFields: ThumbnailFields;
  /** For links whose bytes go through the service. */
  linkSlots: StreamSlots;
  /** What has happened in projects, as it is numbered. */
  feed: Feed;
  /** Finds the addresses of the hosts of webhooks. */
  lookupHost: HostLookup;
  /** Starts work that a request has just enqueued, soon and in this process. */
  work: Handover;
  /** Undefined if no mail server is set. */
  mail: Mailer | undefined;
  /** How often owners are told of trouble with webhooks. */
  webhookMails: WebhookMailLimits;
  log: Logger;
  /** The lines about requests. */
  accessLog: AccessLog;
  /** Decides which requests and jobs are traces. */
  tracing: Tracing;
  /** The trace of what these are used for; undefined if it is in none. */
  trace?: Trace | undefined;
  /** Called with every request, for metrics. */
  onRequest: () => void;
  /** Called with every answer, for metrics. */
  observe: (answer: Answered) => void;
  /** Called with each file found to differ from what was declared, for metrics. */
  onMismatch: (kind: Mismatch) => void;
  /** Learns of each attempt to deliver an event to a webhook. */
  onAttempt: (outcome: AttemptOutcome, seconds: number) => void;
  /** The health of the database and the object store. */
  health: Health;
  /** Whether the service is stopping. */
  draining: () => boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}
