import type { Database } from '../db/open.ts';
import { count, createSharedLimiter } from '../rate-limits/shared-limiter.ts';

/** Limits messages about webhooks: whoever owns a project decides when its endpoints fail, and the other owners get the message. */
export interface WebhookMailLimits {
  /** Counts one message, and returns whether to send it. */
  mayTell(about: { projectId: string; id: string; trouble: string }): Promise<boolean>;
}

const daySeconds = 86_400;

/** One message a day about the same trouble of an endpoint, and ten about all endpoints of a project. */
export function createWebhookMailLimits(db: Pick<Database, 'kind' | 'pool'>): WebhookMailLimits {
  const byTrouble = createSharedLimiter(db, 'webhook-trouble', { points: 1, duration: daySeconds });
  const byProject = createSharedLimiter(db, 'webhook-project', { points: 10, duration: daySeconds });
  return {
    mayTell: async ({ projectId, id, trouble }) =>
      !(await count(byTrouble, `${id} ${trouble}`)) && !(await count(byProject, projectId)),
  };
}
