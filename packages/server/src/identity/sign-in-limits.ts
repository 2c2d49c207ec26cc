import { createHash } from 'node:crypto';
import type { Database } from '../db/open.ts';
import { Problem } from '../problem.ts';
import { toAddressBlock } from '../rate-limits/address-block.ts';
import { createAddressLimiter } from '../rate-limits/address-limiter.ts';
import { createFairGate } from '../rate-limits/fair-gate.ts';
import { count, createSharedLimiter } from '../rate-limits/shared-limiter.ts';

/**
 * Where an attempt at an account comes from: anywhere, a session of the account, or one of its known devices
 * (`known-devices.ts`). Each is counted separately, so that a stranger can close only the first.
 */
export type Vantage = { kind: 'anywhere' } | { kind: 'session' } | { kind: 'device'; device: string };
export const anywhere: Vantage = { kind: 'anywhere' };
export const fromSession: Vantage = { kind: 'session' };

/** Limits guesses at passwords, and everything else about accounts that somebody could try again and again. */
export interface SignInLimits {
  /** Counts one attempt from an address. @throws Problem too_many_attempts */
  countAddress(address: string): Promise<void>;
  /**
   * Counts one request from an address for a passkey question: each stores a row for a while.
   * @throws Problem too_many_attempts
   */
  countQuestion(address: string): Promise<void>;
  /**
   * Does an attempt at an account once those before it from the same vantage are over: right ones at the same moment would
   * otherwise count against each other, since each counts until it turns out to be right.
   */
  inTurn<T>(email: string, from: Vantage, attempt: () => Promise<T>): Promise<T>;
  /** Counts one attempt at an account, which need not exist. @throws Problem too_many_attempts */
  countAccount(email: string, from: Vantage): Promise<void>;
  /**
   * Counts one request for a new password, and returns whether to send a message. If not, one sent within the last hour
   * still works.
   */
  mayReset(email: string): Promise<boolean>;
  /** Counts one message that verifies an address. @throws Problem too_many_attempts */
  countVerification(email: string): Promise<void>;
  /** An attempt was right as far as it went: it does not count against the address. */
  forgiveAddress(address: string): Promise<void>;
  /** An attempt was right: clears the account's count for that vantage. */
  forgiveAccount(email: string, from: Vantage): Promise<void>;
  /**
   * The tokens for a new password that an address was sent have been deleted, so none of them works: the next request
   * sends a message again.
   */
  allowResets(email: string): Promise<void>;
  /** Somebody entitled to do so has set the password: clears every count of the account. */
  openAccount(email: string): Promise<void>;
}

const perAddress = { points: 10, duration: 60 };
const perAccount = { points: 5, duration: 15 * 60 };
/** A page may request a question as soon as it is opened, and many people may share an address. */
const questions = { points: 60, duration: 60 };
/**
 * No longer than a token for a new password is valid (`request-password-reset.ts`), so anybody who is refused a message
 * already has a valid one.
 */
const messages = { points: 3, duration: 3600 };
/** How often an account was closed within a day: each time for twice as long as before, up to four hours. */
const closures = { points: 1_000_000, duration: 24 * 3600 };
const longestClosureSeconds = 4 * 3600;

/**
 * Ten attempts a minute from one address, and five in a quarter of an hour at one account from one vantage. Counted in
 * PostgreSQL for all processes together, or in memory if there is only one process. If the database fails, nobody can
 * sign in.
 */
export function createSignInLimits(db: Database): SignInLimits {
  const byAddress = createAddressLimiter(db, 'address', perAddress);
  const byAccount = createSharedLimiter(db, 'account', perAccount);
  const byQuestion = createAddressLimiter(db, 'question', questions);
  const byReset = createSharedLimiter(db, 'message', messages);
  const byVerification = createSharedLimiter(db, 'verification', messages);
  const closed = createSharedLimiter(db, 'closed', closures);

  const turns = createFairGate({
    size: Number.POSITIVE_INFINITY,
    share: 1,
    mostWaiting: Number.POSITIVE_INFINITY,
    mostWaitingEach: Number.POSITIVE_INFINITY,
  });

  async function close(key: string): Promise<number> {
    const { consumedPoints } = await closed.consume(key);
    const seconds = Math.min(perAccount.duration * 2 ** (consumedPoints - 1), longestClosureSeconds);
    await byAccount.block(key, seconds);
    return seconds;
  }

  async function start(key: string): Promise<void> {
    await byAccount.delete(key);
    await closed.delete(key);
  }

  async function allowResets(email: string): Promise<void> {
    await byReset.delete(toKey(email, anywhere));
  }

  return {
    countAddress: (address) => requireFew(byAddress, toAddressBlock(address)),
    countQuestion: (address) => requireFew(byQuestion, toAddressBlock(address)),
    async inTurn(email, from, attempt) {
      const leave = await turns.enter([toKey(email, from)]);
      try {
        return await attempt();
      } finally {
        leave?.();
      }
    },
    async countAccount(email, from) {
      const key = toKey(email, from);
      const refused = await count(byAccount, key);
      if (!refused) return;
      // Of many concurrent attempts, exactly one is the first over the limit.
      const isFirst = refused.consumedPoints === perAccount.points + 1;
      throw tooMany(isFirst ? await close(key) : refused.msBeforeNext / 1000);
    },
    async mayReset(email) {
      return (await count(byReset, toKey(email, anywhere))) === undefined;
    },
    countVerification: (email) => requireFew(byVerification, toKey(email, anywhere)),
    async forgiveAddress(address) {
      await byAddress.reward(toAddressBlock(address));
    },
    forgiveAccount: (email, from) => start(toKey(email, from)),
    allowResets,
    async openAccount(email) {
      await allowResets(email);
      for (const from of [anywhere, fromSession]) await start(toKey(email, from));
    },
  };
}

/** Counts one. @throws Problem too_many_attempts */
async function requireFew(limiter: Parameters<typeof count>[0], key: string): Promise<void> {
  const refused = await count(limiter, key);
  if (refused) throw tooMany(refused.msBeforeNext / 1000);
}

/**
 * All keys have the same length, however long the address is; and a copy of the table reveals no address that is not
 * known already.
 */
function toKey(email: string, from: Vantage): string {
  const vantage = from.kind === 'anywhere' ? '' : `\0${from.kind}\0${from.kind === 'device' ? from.device : ''}`;
  return createHash('sha256').update(email.toLowerCase()).update(vantage).digest('base64url');
}

function tooMany(seconds: number): Problem {
  const retryAfter = String(Math.max(1, Math.ceil(seconds)));
  return new Problem('too_many_attempts', undefined, { headers: { 'Retry-After': retryAfter } });
}
