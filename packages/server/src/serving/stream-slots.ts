import type { ErrorCode } from '@cadiz/contract';
import { Problem } from '../problem.ts';
import { createFairGate, type Parties } from '../rate-limits/fair-gate.ts';
import { createReaderPace, type ReaderPace } from './reader-pace.ts';

/**
 * Limits how many streams of files there are at once: their bytes go through the service, which must have time for other
 * requests.
 */
export interface StreamSlots {
  /**
   * Waits a while for a slot. Each party gets at most half of the slots, and the first ones take turns. If all slots are
   * taken, the slowest reader is cut off if it is too slow.
   * @param parties such as the account and the project that an archive is made for
   * @param signal aborts when nobody waits for the stream any more
   * @throws Problem that the slots are busy, or the signal's reason
   */
  take(parties: Parties, signal: AbortSignal): Promise<StreamSlot>;
}

export interface StreamSlot extends Pick<ReaderPace, 'hand' | 'take'> {
  /** Aborts, with the reason, when the slot is taken away. */
  readonly lost: AbortSignal;
  /** Must be called at the end; calling it again is harmless. */
  leave(): void;
}

/**
 * 256 kbit/s: slower than any line on which people download files, so that a slot cannot be held for next to
 * nothing.
 */
const minBytesPerSecond = 32 * 1024;
/** A line that stutters for a few seconds is not slow. */
const paceMilliseconds = 60_000;
/** Every proxy waits at least this long for a first byte. */
const waitMilliseconds = 20_000;
/** A client that retries soon spends most of its time waiting, and gets its turn when a slot is free. */
const retryAfterSeconds = 5;

/**
 * @param atOnce slots for all parties together
 * @param busy the problem of whoever gets none
 * @param longestWait milliseconds that a request waits for a slot
 */
export function createStreamSlots(
  atOnce: number,
  busy: ErrorCode,
  now: () => number,
  longestWait: number = waitMilliseconds,
): StreamSlots {
  const share = Math.ceil(atOnce / 2);
  const gate = createFairGate({ size: atOnce, share, mostWaiting: Number.POSITIVE_INFINITY, mostWaitingEach: share });
  const taken = new Map<StreamSlot, { pace: ReaderPace; cutOff: () => void }>();

  /** Cuts off the slowest reader, if that makes room for these parties. */
  function cutOffSlowest(parties: Parties): void {
    if (!gate.isFullFor(parties)) return;
    const paces = [...taken.values()].map(({ pace, cutOff }) => ({ pace: pace.bytesPerSecond(), cutOff }));
    const [slowest] = paces
      .filter(({ pace = Number.POSITIVE_INFINITY }) => pace < minBytesPerSecond)
      .sort((a, b) => Number(a.pace) - Number(b.pace));
    slowest?.cutOff();
  }

  function occupy(leaveGate: () => void): StreamSlot {
    const lost = new AbortController();
    const pace = createReaderPace(now, paceMilliseconds);
    const slot: StreamSlot = {
      hand: pace.hand,
      take: pace.take,
      lost: lost.signal,
      leave() {
        taken.delete(slot);
        leaveGate();
      },
    };
    const cutOff = () => {
      slot.leave();
      lost.abort(new Error('The client was too slow while others were waiting.'));
    };
    taken.set(slot, { pace, cutOff });
    return slot;
  }

  return {
    async take(parties, signal) {
      const over = new AbortController();
      const timer = setTimeout(() => {
        cutOffSlowest(parties);
        over.abort(toBusy(busy));
      }, longestWait);
      try {
        cutOffSlowest(parties);
        const leave = await gate.enter(parties, AbortSignal.any([signal, over.signal]));
        if (!leave) throw toBusy(busy);
        return occupy(leave);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function toBusy(busy: ErrorCode): Problem {
  return new Problem(busy, undefined, { headers: { 'Retry-After': `${retryAfterSeconds}` } });
}
