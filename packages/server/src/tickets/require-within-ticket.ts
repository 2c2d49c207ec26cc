import type { Uploader } from '../access/caller.ts';
import { invalidTicket } from '../access/invalid-ticket.ts';
import type { Deps } from '../deps.ts';
import { type Declared, toPatterns } from '../limits/require-within-limits.ts';
import { Problem } from '../problem.ts';

/**
 * Refuses an upload that the ticket of the caller is not for, whatever is left of its budget. Every other caller passes.
 * @throws Problem file_too_large, mime_type_not_allowed
 */
export function requireWithinTicket(caller: Uploader, { fileSize, mimeType }: Declared): void {
  if (caller.kind !== 'ticket') return;
  const { maxFileSize, mimeTypes } = caller;
  if (maxFileSize !== null && fileSize > maxFileSize) {
    throw new Problem(
      'file_too_large',
      `The file has ${fileSize} bytes; this ticket is for files of at most ${maxFileSize}.`,
    );
  }
  if (mimeTypes !== null && !toPatterns(mimeType).some((pattern) => mimeTypes.includes(pattern))) {
    throw new Problem(
      'mime_type_not_allowed',
      `The file is of type ${mimeType}; this ticket is for ${mimeTypes.join(', ')}.`,
    );
  }
}

/** For everything that begins an upload: a ticket that is over can only finish those it has begun. @throws Problem invalid_ticket */
export function requireNotEnded({ now }: Pick<Deps, 'now'>, caller: Uploader): void {
  if (caller.kind !== 'ticket' || caller.expiresAt > now()) return;
  throw invalidTicket(
    `The ticket ended at ${new Date(caller.expiresAt).toISOString()}. It can only finish what it has begun.`,
  );
}
