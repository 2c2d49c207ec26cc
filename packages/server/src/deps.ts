import type { Role, Scope } from '@cadiz/contract';
import type { Logger } from 'pino';
import type { AccessChanges } from './access-changes.ts';
import type { Config } from './config.ts';
import type { Database } from './db/open.ts';
import type { Accounts } from './features/accounts/accounts.ts';
import type { ApiKeys } from './features/api-keys/find-api-key.ts';
import type { ContentChecks } from './features/content-checks/check-contents.ts';
import type { ArchiveLinks } from './features/downloads/archive-links.ts';
import type { ArchiveSlots } from './features/downloads/archive-slots.ts';
import type { LimitsCache } from './features/projects/find-limits.ts';
import type { PresignedBytes } from './features/projects/presigned-bytes.ts';
import type { RateLimits } from './features/rate-limits/rate-limits.ts';
import type { FoundCache } from './found-cache.ts';
import type { Health } from './health.ts';
import type { Mailer } from './mail.ts';
import type { ObjectStore } from './store/object-store.ts';

/** What is known of a request once it is answered. `started` is by performance.now(). */
export interface Answered {
  operation: string;
  method: string;
  status: number;
  requestId: string;
  started: number;
}

/** What the service does by itself; `jobs/jobs.ts` says what each is. */
export type JobName =
  | 'sweep'
  | 'multiparts'
  | 'uploads'
  | 'trash'
  | 'contents'
  | 'reconcile'
  | 'quarantines'
  | 'audit'
  | 'expired'
  | 'tidy';

/** Told of what a job has removed. */
export type Count = (what: Removed, howMany: number) => void;
export type Removed = 'orphan' | 'removed_project' | 'multipart' | 'upload' | 'trashed_file' | 'event';

/** What a feature may reach. Everything that a test wants otherwise comes in through here. */
export interface Deps {
  config: Config;
  db: Database;
  objects: ObjectStore;
  accounts: Accounts;
  apiKeys: ApiKeys;
  /** The role that a user has in a project. */
  reach: FoundCache<Role>;
  /** Which folders exist. */
  folders: FoundCache<true>;
  /** Which folders lie in which. */
  subtrees: FoundCache<true>;
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
  /** Looks at what was uploaded, off the path of requests. */
  contents: ContentChecks;
  /** Undefined where no mail server is set. */
  mail: Mailer | undefined;
  log: Logger;
  /** Told of every answer, for metrics and the request log. */
  observe: (answer: Answered) => void;
  /** Makes a job due now, in whichever process it runs. */
  wake: (job: JobName) => Promise<void>;
  /** How the database and the object store are. */
  health: Health;
  /** Whether the service is stopping. */
  draining: () => boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** A signed-in user. */
export interface SessionCaller {
  kind: 'session';
  userId: string;
  /** Which session of theirs it is, when there is one. */
  sessionId?: string | undefined;
  /** Where the request came from, when somebody knows. */
  address?: string | undefined;
}

/** An API key: tied to one project, or (null) to the projects that its creator can reach. */
export interface ApiKeyCaller {
  kind: 'apiKey';
  keyId: string;
  /** With the role that its creator has there now; and tied to one folder of the project, or (null) to all of it. */
  tied: { projectId: string; folderId: string | null; role: Role } | null;
  createdBy: string;
  scopes: readonly Scope[];
  /** Where the request came from, when somebody knows. */
  address?: string | undefined;
}

/** Somebody who shows no credential, and needs none. */
export interface Visitor {
  kind: 'visitor';
  /** Where the request came from. */
  address: string;
}

/** Who is asking. */
export type Caller = SessionCaller | ApiKeyCaller;
