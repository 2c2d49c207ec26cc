import { toCsv } from '../../csv.ts';
import { save } from '../../save.ts';
import type { Event } from './events.ts';
import type { Names } from './names.ts';

/** Saves events as they were answered. */
export function saveAsJson(projectId: string, events: readonly Event[]): void {
  save(`audit-${projectId}.json`, 'application/json', `${JSON.stringify(events, null, 2)}\n`);
}

/** Saves events as a table; what they were done to stands in one column, as JSON. */
export function saveAsCsv(projectId: string, events: readonly Event[], names: Names): void {
  const head = ['at', 'type', 'who', 'userId', 'apiKeyId', 'ip', 'subject', 'id', 'requestId'];
  const rows = events.map((event) => {
    const { at, type, userId, apiKeyId, ip, subject, id, requestId } = event;
    return [at, type, names.ofActor(event), userId, apiKeyId, ip, JSON.stringify(subject), id, requestId ?? null];
  });
  save(`audit-${projectId}.csv`, 'text/csv', toCsv([head, ...rows]));
}
