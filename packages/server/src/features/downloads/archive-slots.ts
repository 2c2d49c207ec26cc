import { Problem } from '../../problem.ts';
import { createFairGate, type Parties } from '../../rate-limits/fair-gate.ts';
import { createReaderPace, type ReaderPace } from './reader-pace.ts';

/**
 * Limits how many archives are made at once: their bytes go through the service, which must have time for other
 * requests.
 */
export interface ArchiveSlots {
  /**
   * Waits a while for a slot. One account gets at most half of the slots, and so does one project; accounts take turns.
   * If all slots are taken, the slowest reader is cut off if it is too slow.
   * @param signal aborts when nobody waits for the archive any more
   * @throws Problem archives_busy, or the signal's reason
   */
  take(asker: ArchiveAsker, signal: AbortSignal): Promise<ArchiveSlot>;
}

/** The account that an archive is made for, whether through a session or any of its keys, and the project. */
export interface ArchiveAsker {
  userId: string;
  projectId: string;
}

export interface ArchiveSlot extends Pick<ReaderPace, 'hand' | 'take'> {
  /** Aborts, with the reason, when the slot is taken away. */
  readonly lost: AbortSignal;
  /** Must be called at the end; calling it again is harmless. */
  leave(): void;
}

/**
 * 256 kbit/s: slower than any line on which people download archives, so that a slot cannot be held for next to
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
 * @param atOnce slots for all accounts together
 * @param longestWait milliseconds that a request waits for a slot
 */
export function createArchiveSlots(
  atOnce: number,
  now: () => number,
  longestWait: number = waitMilliseconds,
): ArchiveSlots {
  const share = Math.ceil(atOnce / 2);
  const gate = createFairGate({ size: atOnce, share, mostWaiting: Number.POSITIVE_INFINITY, mostWaitingEach: share });
  const taken = new Map<ArchiveSlot, { pace: ReaderPace; cutOff: () => void }>();

  /** Cuts off the slowest reader, if that makes room for these parties. */
  function cutOffSlowest(parties: Parties): void {
    if (!gate.isFullFor(parties)) return;
    const paces = [...taken.values()].map(({ pace, cutOff }) => ({ pace: pace.bytesPerSecond(), cutOff }));
    const [slowest] = paces
      .filter(({ pace = Number.POSITIVE_INFINITY }) => pace < minBytesPerSecond)
      .sort((a, b) => Number(a.pace) - Number(b.pace));
    slowest?.cutOff();
  }

  function occupy(leaveGate: () => void): ArchiveSlot {
    const lost = new AbortController();
    const pace = createReaderPace(now, paceMilliseconds);
    const slot: ArchiveSlot = {
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
    async take({ userId, projectId }, signal) {
      const parties: Parties = [`user ${userId}`, `project ${projectId}`];
      const over = new AbortController();
      const timer = setTimeout(() => {
        cutOffSlowest(parties);
        over.abort(archivesBusy());
      }, longestWait);
      try {
        cutOffSlowest(parties);
        const leave = await gate.enter(parties, AbortSignal.any([signal, over.signal]));
        if (!leave) throw archivesBusy();
        return occupy(leave);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function archivesBusy(): Problem {
  return new Problem('archives_busy', undefined, { headers: { 'Retry-After': `${retryAfterSeconds}` } });
}
