import { TooManyListings } from '../db/database-errors.ts';
import type { Exchange } from './exchange.ts';

/** How many bytes of listings one account may leave untaken in each process: some thirty of the longest pages. */
const mostBytes = 128 * 1024 * 1024;
const bytesOf = new Map<string, number>();

/**
 * Counts a listing that is ready to be sent, until its client has taken it or is gone. Clients that ask for pages and read none
 * would otherwise fill the memory of the process.
 * @throws TooManyListings if the account has left too much untaken
 */
export function holdListing(exchange: Pick<Exchange, 'onSent'>, userId: string, bytes: number): void {
  const held = bytesOf.get(userId) ?? 0;
  if (held > mostBytes) throw new TooManyListings();
  bytesOf.set(userId, held + bytes);
  exchange.onSent(() => {
    const left = (bytesOf.get(userId) ?? 0) - bytes;
    if (left > 0) bytesOf.set(userId, left);
    else bytesOf.delete(userId);
  });
}
