import type * as contract from '@cadiz/contract';
import type { EventType, FeedType, MetadataEntries, Role, Scope } from '@cadiz/contract';
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { z } from 'zod';

type ImageFacts = z.output<typeof contract.ImageFacts>;
type ImageOptions = z.output<typeof contract.ImageOptions>;

interface Times {
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface UsersTable extends Times {
  id: string;
  name: string;
  email: string;
  email_verified: Generated<boolean>;
  image: string | null;
  role: 'owner' | 'member';
  disabled_at: Date | null;
  two_factor_enabled: Generated<boolean>;
  must_verify_email: Generated<boolean>;
}

interface SessionsTable extends Times {
  id: string;
  user_id: string;
  token: string;
  expires_at: Date;
  ip_address: string | null;
  user_agent: string | null;
}

interface AccountsTable extends Times {
  id: string;
  user_id: string;
  account_id: string;
  provider_id: string;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: Date | null;
  refresh_token_expires_at: Date | null;
  scope: string | null;
  password: string | null;
}

interface TwoFactorsTable {
  id: string;
  user_id: string;
  secret: string;
  backup_codes: string;
  verified: boolean;
  last_step: number | null;
  address_proven: Generated<boolean>;
  failed_verification_count: Generated<number>;
  locked_until: Date | null;
}

interface PasskeysTable {
  id: string;
  user_id: string;
  name: string | null;
  credential_id: string;
  public_key: string;
  counter: number;
  device_type: string;
  backed_up: boolean;
  transports: string | null;
  aaguid: string | null;
  created_at: Generated<Date>;
}

interface VerificationsTable extends Times {
  id: string;
  identifier: string;
  value: string;
  expires_at: Date;
}

interface EmailVerificationsTable {
  token_hash: Buffer;
  user_id: string;
  expires_at: Date;
}

interface PasswordResetsTable {
  token_hash: Buffer;
  user_id: string;
  expires_at: Date;
}

interface ProjectsTable extends Times {
  id: string;
  name: string;
  quota_bytes: number | null;
  max_file_size_bytes: number | null;
  allowed_mime_types: string[] | null;
  content_mismatch: Generated<'report' | 'refuse'>;
  /** Written as JSON text. Null: none. */
  image_presets: ColumnType<Record<string, ImageOptions> | null, string | undefined, string | undefined>;
  strip_location: Generated<'never' | 'links'>;
  trash_emptied_at: Date | null;
  created_by: string | null;
  record_from: Date | null;
  /** `2027-01-31` when written; read it as text. */
  counted_from: ColumnType<Date, string | undefined, never>;
}

interface ProjectUsageTable {
  project_id: string;
  slot: number;
  file_count: number;
  total_bytes: number;
}

/** A day that is over: how it changed what the project stores, and what was out of sight at its end. */
interface ProjectDaysTable {
  project_id: string;
  day: Date;
  file_count: number;
  total_bytes: number;
  uploads: number;
  added_bytes: number;
  trashed_files: number;
  trashed_bytes: number;
}

interface PresignedBytesTable {
  project_id: string;
  since: Date;
  bytes: number;
}

interface ProjectMembersTable {
  project_id: string;
  user_id: string;
  role: Role;
  created_at: Generated<Date>;
}

interface InvitationsTable {
  project_id: string;
  id: string;
  email: string;
  role: Role;
  token_hash: Buffer;
  created_by: string;
  created_at: Generated<Date>;
  expires_at: Date;
}

interface RemovedProjectsTable {
  project_id: string;
  removed_at: Generated<Date>;
}

interface ApiKeysTable {
  id: string;
  hash: Buffer;
  hash_alg: Generated<number>;
  name: string;
  project_id: string | null;
  folder_id: string | null;
  created_by: string;
  last4: string;
  scopes: Scope[];
  created_at: Generated<Date>;
  expires_at: Date | null;
  expired_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

/** Set on rows in the trash, and null on all others. */
interface Trashed {
  trash_id: string | null;
  trashed_at: Date | null;
  trashed_by_user: string | null;
  trashed_by_key: string | null;
}

interface FoldersTable extends Times, Trashed {
  project_id: string;
  id: string;
  parent_id: string | null;
  name: string;
  name_key: string;
  created_by_user: string | null;
  created_by_key: string | null;
}

interface FilesTable extends Times, Trashed {
  project_id: string;
  id: string;
  store_key: string;
  file_name: string;
  name_key: string;
  file_size: number;
  mime_type: string;
  folder_id: string | null;
  etag: string;
  detected_mime_type: string | null;
  content_check: Generated<'pending' | 'match' | 'mismatch' | 'unknown'>;
  /** Set by processes of an earlier version only, which may run beside this one. */
  check_at: Generated<Date | null>;
  sha256: Buffer | null;
  sha256_state: 'declared' | 'verified' | 'mismatch' | null;
  created_by_user: string | null;
  created_by_key: string | null;
  ticket_id: string | null;
  /** Written as JSON text. Null: none. */
  metadata: ColumnType<MetadataEntries | null, string | null | undefined, string | null>;
  external_id: Generated<string | null>;
  /** Another file has the external id while this one is out of sight; otherwise null. */
  external_id_ceded: Generated<true | null>;
  replaces: Generated<string | null>;
  replaced_by: Generated<string | null>;
}

interface ImagesTable {
  project_id: string;
  file_id: string;
  /** Written as JSON text. */
  view: ColumnType<ImageFacts, string, string>;
}

interface ImageWalkTable {
  one_row: Generated<boolean>;
  after_project: string | null;
  after_file: string | null;
  is_done: Generated<boolean>;
}

interface ImageVariantsTable {
  project_id: string;
  store_key: string;
  file_id: string;
  spec: string;
  state: 'making' | 'ready' | 'abandoned';
  started_at: Generated<Date>;
  removable_at: Date | null;
  content_type: string | null;
  etag: string | null;
  bytes: number | null;
  width: number | null;
  height: number | null;
  /** `2027-01-31` when written. */
  used_on: ColumnType<Date | null, string | null, string | null>;
}

interface LinksTable {
  project_id: string;
  id: string;
  file_id: string;
  disposition: 'inline' | 'attachment';
  /** Written as JSON text. */
  image: ColumnType<ImageOptions | null, string | null, never>;
  expires_at: Date | null;
  created_by_user: string | null;
  created_by_key: string | null;
  created_at: Generated<Date>;
}

interface UploadsTable {
  project_id: string;
  id: string;
  store_key: string;
  store_upload_id: string;
  file_name: string;
  file_size: number;
  mime_type: string;
  folder_id: string | null;
  part_size: number;
  sha256: Buffer | null;
  created_by_user: string | null;
  created_by_key: string | null;
  ticket_id: string | null;
  created_at: Generated<Date>;
  expires_at: Date;
  aborted_at: Date | null;
  completed_at: Date | null;
  file_id: string | null;
}

interface TicketsTable {
  project_id: string;
  id: string;
  hash: Buffer;
  folder_id: string | null;
  created_by: string;
  created_by_key: string | null;
  max_files: number;
  max_bytes: number;
  used_files: Generated<number>;
  used_bytes: Generated<number>;
  used_folders: Generated<number>;
  max_file_size: number | null;
  mime_types: string[] | null;
  origins: string[] | null;
  metadata: ColumnType<MetadataEntries | null, string | null, never>;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  expiry_told: Generated<boolean>;
  auto_record: Generated<boolean>;
}

/** What a reserved upload is to be recorded as. */
export interface ReservedFacts {
  fileName: string;
  mimeType: string;
  folderId: string | null;
  sha256?: string | undefined;
}

interface TicketReservationsTable {
  project_id: string;
  store_key: string;
  ticket_id: string;
  bytes: number;
  /** `refused`: still counted, but nobody can record it; its URL may still take bytes. The others: 0013-tickets.sql. */
  state: Generated<'reserved' | 'released' | 'refused' | 'discarded'>;
  look_at: Date;
  ends_at: Date;
  upload_id: string | null;
  facts: ColumnType<ReservedFacts | null, string | null, never>;
  seen_at: Date | null;
}

interface JobsTable {
  name: string;
  due_at: Date;
  lease: string | null;
  leased_until: Date | null;
  last_success_at: Date | null;
  last_error: string | null;
  last_failed_at: Date | null;
}

interface DoctorRunTable {
  lease: string | null;
  leased_until: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  findings: unknown;
}

interface ProjectSweepsTable {
  project_id: string;
  swept_until: Generated<string>;
  next_sweep_at: Date;
  next_reconcile_at: Date;
}

interface StuckOrphansTable {
  project_id: string;
  store_key: string;
  issued_at: Date;
  found_at: Date;
  reason: string;
}

interface ReconciliationsTable {
  project_id: string;
  id: string;
  requested_by: string | null;
  dry_run: boolean;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  compared_until: Generated<string>;
  /** For processes of an earlier version, which may run beside this one. */
  next_turn_at: Generated<Date>;
  object_count: Generated<number>;
  object_bytes: Generated<number>;
  file_count: Generated<number>;
  pending_count: Generated<number>;
  orphan_count: Generated<number>;
  orphan_bytes: Generated<number>;
  removed_count: Generated<number>;
  missing_count: Generated<number>;
  changed_count: Generated<number>;
  foreign_count: Generated<number>;
}

interface ReconciliationFindingsTable {
  project_id: string;
  reconciliation_id: string;
  kind: 'orphan' | 'missing' | 'changed' | 'foreign';
  store_key: string;
  facts: Record<string, unknown>;
}

interface QuarantinesTable {
  project_id: string;
  id: string;
  api_key_id: string;
  created_by: string;
  since: Date;
  created_at: Date;
  state: 'marking' | 'held' | 'releasing' | 'released' | 'trashing' | 'trashed';
  reached: string;
  file_count: Generated<number>;
  total_bytes: Generated<number>;
  ended_by: string | null;
  ended_at: Date | null;
}

interface WorkTable {
  kind: string;
  project_id: string;
  subject: string;
  payload: unknown;
  state: 'waiting' | 'ready' | 'leased' | 'dead';
  due_at: Date;
  lease: string | null;
  again_at: Date | null;
  attempts: Generated<number>;
  last_error: string | null;
}

interface OperationsTable {
  project_id: string;
  id: string;
  action: 'move' | 'delete' | 'restore';
  folder_id: string | null;
  search: string | null;
  except_ids: string[];
  target_id: string | null;
  created_by_user: string | null;
  created_by_key: string | null;
  ip: string | null;
  request_id: string | null;
  created_at: Date;
  state: Generated<'running' | 'finished' | 'cancelled' | 'failed'>;
  kind: Generated<'folders' | 'files'>;
  reached: Generated<string>;
  total: number;
  done: Generated<number>;
  file_count: Generated<number>;
  folder_count: Generated<number>;
  total_bytes: Generated<number>;
  problem_code: string | null;
  problem_detail: string | null;
  finished_at: Date | null;
  expires_at: Date | null;
}

interface AuditEventsTable {
  project_id: string | null;
  id: string;
  type: EventType;
  at: Date;
  user_id: string | null;
  api_key_id: string | null;
  ip: string | null;
  request_id: string | null;
  subject: ColumnType<Record<string, unknown>, string, never>;
}

/** What an event says of itself, before and after it has a number. */
interface EventColumns {
  project_id: string;
  id: string;
  type: FeedType;
  at: Date;
  user_id: string | null;
  api_key_id: string | null;
  ticket_id: string | null;
  data: ColumnType<Record<string, unknown>, string, never>;
}

interface NewEventsTable extends EventColumns {
  pos: GeneratedAlways<number>;
}

interface EventsTable extends EventColumns {
  seq: number;
  position: number;
}

interface EventHeadTable {
  id: Generated<boolean>;
  position: number;
}

interface EventHeadsTable {
  project_id: string;
  seq: number;
  purged: Generated<number>;
}

interface WebhookEndpointsTable {
  project_id: string;
  id: string;
  url: string;
  description: string | null;
  types: FeedType[] | null;
  ordered: boolean;
  enabled: Generated<boolean>;
  disabled_reason: 'gone' | 'failing' | null;
  disabled_at: Date | null;
  secret: string;
  old_secret: string | null;
  old_secret_until: Date | null;
  first_failure_at: Date | null;
  failure_told: Generated<boolean>;
  paused_until: Date | null;
  created_by: string | null;
  created_at: Date;
}

interface WebhookDeliveriesTable {
  project_id: string;
  endpoint_id: string;
  event_id: string;
  seq: number;
  type: FeedType;
  at: Date;
  state: Generated<'pending' | 'delivered' | 'failed'>;
  due_at: Date;
  attempts: Generated<number>;
  attempted_at: Date | null;
  status: number | null;
  duration_ms: number | null;
  answer: string | null;
  error: string | null;
}

interface RateLimitsTable {
  name: string;
  used: number;
  ends_at: Date;
}

/** Every table, as Kysely sees it. The SQL in `migrations/` has the last word. */
export interface Schema {
  users: UsersTable;
  sessions: SessionsTable;
  accounts: AccountsTable;
  passkeys: PasskeysTable;
  two_factors: TwoFactorsTable;
  verifications: VerificationsTable;
  email_verifications: EmailVerificationsTable;
  password_resets: PasswordResetsTable;
  projects: ProjectsTable;
  project_members: ProjectMembersTable;
  project_usage: ProjectUsageTable;
  project_days: ProjectDaysTable;
  presigned_bytes: PresignedBytesTable;
  invitations: InvitationsTable;
  removed_projects: RemovedProjectsTable;
  api_keys: ApiKeysTable;
  folders: FoldersTable;
  files: FilesTable;
  images: ImagesTable;
  image_variants: ImageVariantsTable;
  image_walk: ImageWalkTable;
  links: LinksTable;
  uploads: UploadsTable;
  tickets: TicketsTable;
  ticket_reservations: TicketReservationsTable;
  jobs: JobsTable;
  doctor_run: DoctorRunTable;
  project_sweeps: ProjectSweepsTable;
  stuck_orphans: StuckOrphansTable;
  reconciliations: ReconciliationsTable;
  reconciliation_findings: ReconciliationFindingsTable;
  audit_events: AuditEventsTable;
  new_events: NewEventsTable;
  events: EventsTable;
  event_head: EventHeadTable;
  event_heads: EventHeadsTable;
  webhook_endpoints: WebhookEndpointsTable;
  webhook_deliveries: WebhookDeliveriesTable;
  quarantines: QuarantinesTable;
  operations: OperationsTable;
  rate_limits: RateLimitsTable;
  work: WorkTable;
}
