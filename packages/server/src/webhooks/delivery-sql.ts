import { enqueueSql, notifyWorkSql } from '../work/enqueue.ts';

/** The kind of work that delivers what is due to one endpoint. Its subject is the endpoint. */
export const webhookWork = 'webhook';

/**
 * The part (`with`) of the statement that numbers events which makes their deliveries, and the work of their endpoints.
 * @param numbered the name of a part that has the columns `project_id`, `seq`, `id`, `type`, `at` of the events
 * @returns the parts `delivered`, `asked` and `told`; the statement must read `told`
 */
export function deliverySql(numbered: string): string {
  return `delivered as (
    insert into webhook_deliveries (project_id, endpoint_id, event_id, seq, type, at, due_at)
    select event.project_id, endpoint.id, event.id, event.seq, event.type, event.at, least(event.at, now())
    from webhook_endpoints as endpoint join ${numbered} as event using (project_id)
    where endpoint.enabled and (endpoint.types is null or event.type = any(endpoint.types))
    returning project_id, endpoint_id
  ), asked as (
    ${enqueueSql({
      kind: webhookWork,
      from: '(select distinct project_id, endpoint_id::text as subject from delivered) as wanted',
    })}
  ), told as (
    ${notifyWorkSql({ kind: webhookWork, asked: 'asked' })}
  )`;
}
