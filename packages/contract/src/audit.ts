import { z } from 'zod';
import { timestampOut, uuid, uuidOut } from './fields.ts';
import { cursor } from './storage.ts';

/** What is logged: every change of access, and everything that was deleted or restored. */
export const eventTypes = [
  'account.created',
  'account.disabled',
  'account.enabled',
  'account.deleted',
  'email.verified',
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_out',
  'session.revoked',
  'password.changed',
  'password.reset_requested',
  'password.reset',
  'second_factor.added',
  'second_factor.codes_renewed',
  'second_factor.removed',
  'passkey.added',
  'passkey.removed',
  'identity.linked',
  'identity.unlinked',
  'project.created',
  'project.updated',
  'project.deleted',
  'member.added',
  'member.changed',
  'member.removed',
  'invitation.created',
  'invitation.removed',
  'api_key.created',
  'api_key.rotated',
  'api_key.revoked',
  'ticket.created',
  'ticket.revoked',
  'quarantine.created',
  'quarantine.released',
  'quarantine.trashed',
  'file.deleted',
  'file.replaced',
  'file.restored',
  'folder.deleted',
  'folder.restored',
  'bulk.deleted',
  'bulk.restored',
  'trash.emptied',
  'link.created',
  'link.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.rotated',
  'webhook.deleted',
] as const;
export type EventType = (typeof eventTypes)[number];

export const AuditEvent = z.object({
  id: uuidOut,
  type: z.enum(eventTypes),
  at: timestampOut,
  userId: uuidOut.nullable().meta({ description: 'The signed-in user who did it; null when it was an API key.' }),
  apiKeyId: uuidOut.nullable().meta({ description: 'The API key that did it.' }),
  ip: z.string().nullable().meta({ description: 'The IP address that the request came from.' }),
  requestId: uuidOut.optional().meta({
    description: 'The request that did it, as `X-Request-Id` of its answer and the log of the service name it.',
  }),
  subject: z
    .record(z.string(), z.unknown())
    .meta({ description: 'What it was done to: ids, names and counts, depending on the type.' }),
});

export const AuditParams = z.object({ projectId: uuid });
export const AuditQuery = z.object({ cursor });
export const AuditPage = z.object({ events: z.array(AuditEvent), nextCursor: z.string().nullable() });
