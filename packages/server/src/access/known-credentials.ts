import { createBoundedCache } from '../bounded-cache.ts';
import { createForgetting } from './forgetting.ts';
import { isFresh, type Renewable, renew } from './found-cache.ts';
import { createLookUps } from './key-look-ups.ts';
import { hashToken, type Tokens } from './token.ts';

/** Looks credentials of one kind up by their hash, and caches existing ones, alive or dead, for at most ten seconds. */
export interface KnownCredentials<C> {
  /**
   * The caller behind a raw credential; undefined if it is malformed, unknown or dead.
   * @param isSuspect called before a query: whether so many bad credentials came from the same place that this one waits
   *   for a query shared with all other suspect ones. A good one is still accepted.
   * @throws Problem rate_limited if too many are waiting
   */
  find(token: string, isSuspect?: () => Promise<boolean>): Promise<C | undefined> | C | undefined;
  /** The id of a credential that was dead when `find` last looked; undefined for any other. */
  findDead(token: string): string | undefined;
  /** Forgets at once every credential that depends on this: itself, its project, whatever made it. */
  forget(id: string): void;
  forgetAll(): void;
}

/** A credential that exists. */
export interface Credential<C> {
  id: string;
  /** Undefined for a dead one. */
  caller: C | undefined;
  /** The ids of what it depends on: if one is forgotten, so is the credential. */
  dependsOn: readonly string[];
  /** When it dies by itself, Unix milliseconds. */
  expiresAt: number;
}

interface Known<C> extends Credential<C>, Renewable {
  foundAt: number;
  /** When it was queried, as counted by `forgetting`. */
  moment: number;
}

export interface CredentialSource<C> {
  tokens: Tokens;
  /** Queries those of these hashes (in hexadecimal) that exist. */
  ask(hashes: readonly string[]): Promise<ReadonlyMap<string, Credential<C>>>;
  /** Called each time that a credential is accepted. */
  onUse?(id: string): void;
}

/** How long suspect credentials are collected for one shared look-up. */
const gatherMilliseconds = 100;

export function createKnownCredentials<C extends object>(
  { tokens, ask: query, onUse }: CredentialSource<C>,
  now: () => number,
): KnownCredentials<C> {
  const known = createBoundedCache<Known<C>>(100_000);
  /** Ids of credentials that were dead last time, by hash. */
  const dead = createBoundedCache<string>(100_000);
  const suspects = createLookUps(ask, gatherMilliseconds);
  const forgetting = createForgetting(() => known.clear());

  async function ask(hashes: string[]): Promise<ReadonlyMap<string, Known<C>>> {
    const moment = forgetting.moment();
    const foundAt = now();
    const found = new Map<string, Known<C>>();
    for (const [hash, credential] of await query(hashes))
      found.set(hash, { ...credential, foundAt, askedAt: foundAt, moment });
    for (const hash of hashes) if (!found.has(hash)) known.delete(hash);
    for (const [hash, { id, caller }] of found) caller ? dead.delete(hash) : dead.set(hash, id);
    // One that was revoked while this query ran must not be cached as alive.
    for (const [hash, one] of found) if (!isForgotten(one)) known.set(hash, one);
    return found;
  }

  async function lookUp(hash: string, isSuspect?: () => Promise<boolean>): Promise<C | undefined> {
    const isSuspectOne = isSuspect !== undefined && (await isSuspect());
    return use(isSuspectOne ? await suspects.find(hash) : (await ask([hash])).get(hash));
  }

  function use(one: Known<C> | undefined): C | undefined {
    if (one?.caller) onUse?.(one.id);
    return one?.caller;
  }

  function findKnown(hash: string, at: number): Known<C> | undefined {
    const one = known.get(hash);
    return one && isFresh(one.foundAt, at) && one.expiresAt > at && !isForgotten(one) ? one : undefined;
  }

  function isForgotten({ moment, dependsOn }: Known<C>): boolean {
    for (const id of dependsOn) if (forgetting.isForgotten(moment, id)) return true;
    return false;
  }

  return {
    find(token, isSuspect) {
      const hash = hashToken(token);
      const at = now();
      const one = findKnown(hash, at);
      if (one) {
        renew(one, at, () => ask([hash]));
        return use(one);
      }
      // A malformed one is recognized by its shape and checksum, without a query.
      if (!tokens.isWellFormed(token)) return undefined;
      // One that was good last time does not wait, whatever else comes from the same place.
      const last = known.get(hash);
      return lookUp(hash, last?.caller && !isForgotten(last) ? undefined : isSuspect);
    },
    findDead: (token) => dead.get(hashToken(token)),
    forget: forgetting.forget,
    forgetAll: forgetting.forgetAll,
  };
}
