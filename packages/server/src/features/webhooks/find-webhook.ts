import type { Kysely, Transaction } from 'kysely';
import type { OpenProject } from '../../access/open-project.ts';
import { keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';
import type { WebhookRow } from './webhook-view.ts';

type Manageable = OpenProject<'project:manage'>;

/** @throws Problem webhook_not_found */
export async function findWebhook(db: Kysely<Schema>, project: Manageable, id: string): Promise<WebhookRow> {
  return required(await select(db, project, id).executeTakeFirst());
}

/** The same, and nobody else changes it until the transaction ends. @throws Problem webhook_not_found */
export async function lockWebhook(trx: Transaction<Schema>, project: Manageable, id: string): Promise<WebhookRow> {
  await keepProject(trx, project.id);
  return required(await select(trx, project, id).forUpdate().executeTakeFirst());
}

/** @throws Problem webhook_disabled */
export function requireEnabled({ enabled }: WebhookRow): void {
  if (!enabled) throw new Problem('webhook_disabled');
}

function select(db: Kysely<Schema>, project: Manageable, id: string) {
  return db.selectFrom('webhook_endpoints').selectAll().where('project_id', '=', project.id).where('id', '=', id);
}

function required(row: WebhookRow | undefined): WebhookRow {
  if (!row) throw new Problem('webhook_not_found');
  return row;
}
