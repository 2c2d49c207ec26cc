import type { PresignRequest, PresignResponse } from '@cadiz/contract';
import type { z } from 'zod';
import type { TicketCaller } from '../../access/caller.ts';
import type { ReservedFacts } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { countPresigned, discountPresigned } from '../../limits/count-presigned.ts';
import { issueStoreKey } from '../../limits/issue-store-key.ts';
import type { AllowedUpload } from '../../limits/require-within-limits.ts';
import { attempt, type Outcome, type Problem, requireAll } from '../../problem.ts';
import { reserveEach, reserveUploads, ticketUrlSeconds, type Wanted } from '../../tickets/reserve.ts';

/** A file with the proof that the project accepts it. */
export interface Allowed {
  file: Pick<z.output<typeof PresignRequest>, 'fileName' | 'fileSize' | 'mimeType' | 'folderId' | 'sha256'>;
  proof: AllowedUpload;
}

type Upload = z.output<typeof PresignResponse>;
type ReserveDeps = Pick<Deps, 'config' | 'db' | 'objects' | 'presigned' | 'now'>;

/**
 * Reserves uploads in the budget of a ticket, each by itself, and signs the URLs of those that fit.
 * @param issuedAt Unix milliseconds
 * @returns for each its URL, or the Problem quota_exceeded or ticket_exhausted
 * @throws Problem invalid_ticket
 */
export async function signEachReserved(
  deps: ReserveDeps,
  caller: TicketCaller,
  allowed: readonly Allowed[],
  issuedAt: number,
): Promise<Outcome<Upload>[]> {
  const problems = count(deps, allowed, issuedAt);
  const counted = allowed.filter((_, index) => problems[index] === undefined);
  const reserved = await orDiscount(deps, counted, issuedAt, () =>
    reserveEach(deps, caller, toWanted(caller, counted, issuedAt)),
  );
  const outcomes = new Map<Allowed, Outcome<Upload>>();
  for (const [index, one] of counted.entries()) {
    const storeKey = reserved[index];
    if (typeof storeKey === 'string') outcomes.set(one, sign(deps, caller, one, storeKey));
    else {
      discountPresigned(deps, one.proof, issuedAt);
      if (storeKey) outcomes.set(one, storeKey);
    }
  }
  return allowed.map((one, index) => outcomes.get(one) ?? (problems[index] as Problem));
}

/**
 * The same for all of them, or for none.
 * @throws Problem invalid_ticket, ticket_exhausted, and the first quota_exceeded, which names its entry
 */
export async function signAllReserved(
  deps: ReserveDeps,
  caller: TicketCaller,
  allowed: readonly Allowed[],
  issuedAt: number,
): Promise<Upload[]> {
  const problems = count(deps, allowed, issuedAt);
  const counted = allowed.filter((_, index) => problems[index] === undefined);
  const storeKeys = await orDiscount(deps, counted, issuedAt, async () => {
    requireAll(problems, 'files');
    return reserveUploads(deps, caller, toWanted(caller, allowed, issuedAt));
  });
  return allowed.map((one, index) => sign(deps, caller, one, storeKeys[index] ?? ''));
}

/** Why they cannot be counted; undefined for those that are. */
function count(deps: ReserveDeps, allowed: readonly Allowed[], issuedAt: number): (Problem | undefined)[] {
  return allowed.map(({ proof }) => attempt(() => countPresigned(deps, proof, issuedAt)) ?? undefined);
}

async function orDiscount<T>(
  deps: ReserveDeps,
  counted: readonly Allowed[],
  issuedAt: number,
  reserve: () => Promise<T>,
): Promise<T> {
  try {
    return await reserve();
  } catch (error) {
    for (const { proof } of counted) discountPresigned(deps, proof, issuedAt);
    throw error;
  }
}

function toWanted(caller: TicketCaller, allowed: readonly Allowed[], issuedAt: number): Wanted[] {
  return allowed.map(({ file, proof }) => ({
    fileSize: file.fileSize,
    facts: toFacts(file),
    issueStoreKey: () => issueStoreKey(proof, file.fileName, issuedAt, caller),
  }));
}

function toFacts({ fileName, mimeType, folderId, sha256 }: Allowed['file']): ReservedFacts {
  return { fileName, mimeType, folderId, sha256 };
}

function sign(deps: ReserveDeps, caller: TicketCaller, { file }: Allowed, storeKey: string): Upload {
  const expiresInSeconds = ticketUrlSeconds(deps, caller);
  return { presignedUrl: deps.objects.presignPut(storeKey, file.fileSize, file.sha256, expiresInSeconds), storeKey };
}
