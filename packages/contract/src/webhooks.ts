import { z } from 'zod';
import { feedType, feedTypes } from './events.ts';
import { label, timestamp, timestampOut, uuid, uuidOut } from './fields.ts';
import { By, cursor, pageLimit } from './storage.ts';

/** How many endpoints a project can have. */
export const maxWebhooks = 50;

/** How many events one request delivers again. */
export const maxReplayed = 10_000;

const day = 86_400;

const url = z
  .string()
  .max(2048, { error: 'must be at most 2048 characters' })
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: 'must be a URL that starts with https://',
  })
  .meta({
    format: 'uri',
    examples: ['https://app.example.com/hooks/cadiz'],
    description:
      'Where events are sent. `https://` and a host with public addresses only, unless WEBHOOK_ALLOW_NETWORKS allows more; without user name and password.',
  });
const types = z
  .array(feedType, { error: 'must be a list of types, or null for all' })
  .min(1, { error: 'must name at least one type; null stands for all' })
  .max(feedTypes.length, { error: 'must not name a type twice' })
  .nullable()
  .meta({ description: 'The types of events that it gets; null for all, also those of later versions.' });
const ordered = z.boolean({ error: 'must be true or false' }).meta({
  description:
    'Whether it gets one event at a time, in the order of their `seq`. A delivery that fails then keeps the others waiting.',
});
const description = label.nullable().meta({ description: 'A note for people; null for none.' });

export const CreateWebhookRequest = z.object({
  url,
  types: types.default(null),
  description: description.default(null),
  ordered: ordered.default(false),
});

export const ChangeWebhookRequest = z
  .object({
    url: url.optional(),
    types: types.optional(),
    description: description.optional(),
    ordered: ordered.optional(),
    enabled: z.boolean({ error: 'must be true or false' }).optional().meta({
      description:
        'False to send nothing any more. True to send what happens from now on; a replay delivers what was missed.',
    }),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'must change something',
  });

export const Webhook = z.object({
  id: uuidOut,
  projectId: uuidOut,
  url: z.string().meta({ description: 'Where events are sent.' }),
  description: z.string().nullable().meta({ description: 'A note for people.' }),
  types: z.array(z.enum(feedTypes)).nullable().meta({ description: 'The types of events that it gets; null for all.' }),
  ordered: z.boolean().meta({ description: 'Whether it gets one event at a time, in their order.' }),
  enabled: z.boolean().meta({ description: 'Whether events are sent.' }),
  disabledReason: z.enum(['gone', 'failing']).nullable().meta({
    description:
      'Why the service has disabled it: `gone`, its receiver answered 410; `failing`, every attempt failed for five days. Null if it is enabled, or was disabled by a person.',
  }),
  disabledAt: timestampOut.nullable().meta({ description: 'When it was disabled; null while it is not.' }),
  failingSince: timestampOut
    .nullable()
    .meta({ description: 'Since when every attempt has failed; null if the last one was successful.' }),
  oldSecretUntil: timestampOut
    .nullable()
    .meta({ description: 'Until when deliveries are signed with the secret from before the rotation, too.' }),
  createdAt: timestampOut,
  createdBy: By.nullable(),
});
const secret = z.string().meta({
  description: 'What deliveries are signed with: `whsec_` and base64. It is never shown again.',
});

/** With the secret, which no other answer has. */
export const CreatedWebhook = Webhook.extend({ secret });
export const WebhookList = z.object({
  webhooks: z.array(Webhook).meta({ description: 'The endpoints of the project, newest first.' }),
});
export const WebhookParams = z.object({ projectId: uuid, id: uuid });
export const DeletedWebhook = z.object({ id: uuidOut, deleted: z.literal(true) });

export const RotateWebhookRequest = z.object({
  overlapSeconds: z
    .int({ error: 'must be a whole number of seconds' })
    .min(0, { error: 'must not be negative' })
    .max(7 * day, { error: `must be at most ${7 * day}` })
    .default(day)
    .meta({ description: 'How long deliveries are signed with both secrets: 0 to 604800 seconds.' }),
});

export const TestedWebhook = z.object({
  eventId: uuidOut.meta({ description: 'The event that is sent; `deliveries` says what becomes of it.' }),
});

const deliveryStates = ['pending', 'delivered', 'failed'] as const;

export const Delivery = z.object({
  eventId: uuidOut.meta({ description: 'The event: the `webhook-id` of each attempt.' }),
  seq: z.int().meta({ description: 'The number of the event; 0 for a test.' }),
  type: z.string().meta({ description: 'The type of the event.' }),
  at: timestampOut.meta({ description: 'When the event happened.' }),
  state: z.enum(deliveryStates).meta({
    description: '`failed` is for good: the last attempt has failed, or the endpoint was disabled before.',
  }),
  attempts: z.int().meta({ description: 'How many attempts there were.' }),
  nextAttemptAt: timestampOut.nullable().meta({ description: 'When it is tried next; null if it is not.' }),
  lastAttemptAt: timestampOut.nullable().meta({ description: 'When it was last tried.' }),
  status: z.int().nullable().meta({ description: 'The HTTP status of the last answer; null if there was none.' }),
  durationMilliseconds: z.int().nullable().meta({ description: 'How long the last attempt took.' }),
  answer: z.string().nullable().meta({ description: 'The beginning of the last answer, at most 1 KiB.' }),
  error: z.string().nullable().meta({ description: 'Why it was not delivered; null if there was an answer.' }),
});

export const DeliveriesQuery = z.object({
  state: z
    .enum(deliveryStates, { error: `must be one of ${deliveryStates.join(', ')}` })
    .optional()
    .meta({ description: 'Only deliveries in this state.' }),
  limit: pageLimit,
  cursor,
});
export const DeliveryPage = z.object({
  deliveries: z.array(Delivery).meta({ description: 'The deliveries, those of the newest events first.' }),
  nextCursor: z.string().nullable(),
});

export const ReplayRequest = z
  .object({
    from: timestamp.optional().meta({ description: 'Every event from this time on that the endpoint gets.' }),
    to: timestamp.optional().meta({ description: 'With `from`: only events before this time.' }),
    eventIds: z
      .array(uuid)
      .min(1, { error: 'must name at least one event' })
      .max(1000, { error: 'must name at most 1000 events' })
      .optional()
      .meta({ description: 'These events, whatever their types.' }),
    failedSince: timestamp.optional().meta({
      description:
        'Every event from this time on that the endpoint gets and has not got: what has failed, and what happened while it was disabled. Nothing from before the endpoint was created.',
    }),
    dryRun: z.boolean().default(false).meta({ description: 'Whether to only count, and send nothing.' }),
  })
  .superRefine(({ from, to, eventIds, failedSince }, context) => {
    if ([from, eventIds, failedSince].filter((way) => way !== undefined).length !== 1) {
      context.addIssue({ code: 'custom', message: 'must have one of from, eventIds and failedSince', path: [] });
    }
    if (to !== undefined && from === undefined) {
      context.addIssue({ code: 'custom', message: 'goes with from', path: ['to'] });
    }
  });
export const Replayed = z.object({
  events: z.int().meta({ description: `How many events are delivered again, at most ${maxReplayed} at once.` }),
  next: timestampOut
    .nullable()
    .meta({ description: 'If there were more: where they begin, for the next `from` or `failedSince`. Else null.' }),
});
