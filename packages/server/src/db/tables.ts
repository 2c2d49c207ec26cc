import type { Schema } from './schema.ts';

/**
 * What a backup does with each table: `kept` are its rows, `left` what only the running service needs, such as counts
 * of requests and leases. A test compares the list with the database.
 */
export const tables: Record<keyof Schema | 'sign_in_limits', 'kept' | 'left'> = {
  users: 'kept',
  sessions: 'kept',
  accounts: 'kept',
  passkeys: 'kept',
  two_factors: 'kept',
  verifications: 'kept',
  email_verifications: 'kept',
  password_resets: 'kept',
  projects: 'kept',
  project_members: 'kept',
  project_usage: 'kept',
  project_days: 'kept',
  presigned_bytes: 'kept',
  invitations: 'kept',
  removed_projects: 'kept',
  api_keys: 'kept',
  folders: 'kept',
  files: 'kept',
  images: 'kept',
  image_variants: 'kept',
  image_walk: 'kept',
  links: 'kept',
  uploads: 'kept',
  tickets: 'kept',
  ticket_reservations: 'kept',
  // Every start adds the jobs that are missing, and they are due at once.
  jobs: 'left',
  // Migrations insert its only row.
  doctor_run: 'left',
  project_sweeps: 'kept',
  stuck_orphans: 'kept',
  reconciliations: 'kept',
  reconciliation_findings: 'kept',
  audit_events: 'kept',
  new_events: 'kept',
  events: 'kept',
  event_head: 'kept',
  event_heads: 'kept',
  webhook_endpoints: 'kept',
  webhook_deliveries: 'kept',
  quarantines: 'kept',
  operations: 'kept',
  rate_limits: 'left',
  // A restore gives nobody more attempts at a password.
  sign_in_limits: 'kept',
  // A restore ends the leases in it.
  work: 'kept',
};
