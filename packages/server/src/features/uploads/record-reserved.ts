import { findTicketCaller } from '../../access/find-ticket.ts';
import { invalidTicket } from '../../access/invalid-ticket.ts';
import type { ReservedFacts } from '../../db/schema.ts';
import type { Reservation } from '../../tickets/reservations.ts';
import { type RecordDeps, recordUpload } from './record-upload.ts';

/**
 * Records an upload that a ticket has reserved, in its name: as its client would have, with what was presigned. If the
 * client does so at the same time, one of the two creates the file, and both get it.
 * @throws Problem as the client would get it, such as invalid_ticket for a ticket that was revoked
 */
export async function recordReserved(deps: RecordDeps, reservation: Reservation, facts: ReservedFacts): Promise<void> {
  const caller = await findTicketCaller(deps.db.pool, deps.now(), reservation);
  if (!caller) throw invalidTicket();
  const { project_id: projectId, store_key: storeKey, bytes: fileSize } = reservation;
  await recordUpload(deps, caller, { projectId, storeKey, fileSize, ...facts });
}
