import type { EventRow } from '../events/event-json.ts';
import { toEventJson } from '../events/event-json.ts';
import { toSignedBody } from './sign.ts';

/**
 * The body of a delivery.
 * @param event without its place among the events of all projects
 */
export function toPayload(event: Omit<EventRow, 'position'>): string {
  return toSignedBody(event.at.toISOString(), toEventJson(event));
}
