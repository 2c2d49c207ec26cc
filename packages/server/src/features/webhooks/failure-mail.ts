import type { Deps } from '../../deps.ts';
import type { WebhookRow } from './webhook-view.ts';

/** What the owners of a project are told of one of its endpoints. */
export type Trouble = 'failing' | 'gone' | 'disabled';

/**
 * Tells the owners of the project that an endpoint is in trouble, if a mail server is set and they have not been told too
 * often. The message contains nothing that a user or a receiver chose, not even the URL of the endpoint.
 */
export async function tellOwners(
  { db, mail, webhookMails, config, log }: Pick<Deps, 'db' | 'mail' | 'webhookMails' | 'config' | 'log'>,
  { project_id, id }: Pick<WebhookRow, 'project_id' | 'id'>,
  trouble: Trouble,
): Promise<void> {
  log.warn({ projectId: project_id, webhookId: id, trouble }, 'A webhook endpoint is in trouble');
  if (!mail || !(await webhookMails.mayTell({ projectId: project_id, id, trouble }))) return;
  const owners = await db.kysely
    .selectFrom('project_members')
    .innerJoin('users', 'users.id', 'project_members.user_id')
    .select('users.email')
    .where('project_members.project_id', '=', project_id)
    .where('project_members.role', '=', 'owner')
    .where('users.email_verified', '=', true)
    .where('users.disabled_at', 'is', null)
    .execute();
  const text = toWords(config.publicUrl, project_id, id, trouble);
  for (const { email } of owners) mail.post(async () => ({ to: email, ...text }));
}

const happened: Record<Trouble, string> = {
  failing: 'deliveries to a webhook endpoint of your project fail. They are attempted again for some days.',
  gone: 'a webhook endpoint of your project has answered 410 (gone), and has been disabled.',
  disabled: 'all deliveries to a webhook endpoint of your project have failed for five days. It has been disabled.',
};

function toWords(publicUrl: string, projectId: string, id: string, trouble: Trouble) {
  return {
    subject: trouble === 'failing' ? 'A webhook of your project fails' : 'A webhook of your project is disabled',
    text: `Hello,

${happened[trouble]}

  Service   ${publicUrl}
  Project   ${projectId}
  Endpoint  ${id}

Its deliveries, with what the receiver answered:

  GET ${publicUrl}/api/projects/${projectId}/webhooks/${id}/deliveries?state=failed

Once the receiver works again, a replay delivers what it has missed.
`,
  };
}
