import { createHash, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Schema } from '../db/schema.ts';

/**
 * A row for something that one request begins and a later one finishes. The browser keeps its name; the row has a hash
 * of it.
 */
export interface NewVerification {
  name: string;
  value: string;
  expiresAt: Date;
}

/** A name that cannot be guessed. */
export function makeName(): string {
  return randomBytes(24).toString('base64url');
}

/** @param at Unix milliseconds */
export async function addVerifications(kysely: Kysely<Schema>, at: number, rows: NewVerification[]): Promise<void> {
  const times = { created_at: new Date(at), updated_at: new Date(at) };
  await kysely
    .insertInto('verifications')
    .values(
      rows.map(({ name, value, expiresAt }) => ({
        id: uuidv7(),
        identifier: hashName(name),
        value,
        expires_at: expiresAt,
        ...times,
      })),
    )
    .execute();
}

/** The value, without using it up; undefined if it is gone or has expired. @param at Unix milliseconds */
export async function findVerification(kysely: Kysely<Schema>, at: number, name: string): Promise<string | undefined> {
  const row = await kysely
    .selectFrom('verifications')
    .select('value')
    .where('identifier', '=', hashName(name))
    .where('expires_at', '>', new Date(at))
    .executeTakeFirst();
  return row?.value;
}

/** Uses up a verification: of two concurrent requests, only one gets the value. @param at Unix milliseconds */
export async function takeVerification(kysely: Kysely<Schema>, at: number, name: string): Promise<string | undefined> {
  const row = await kysely
    .deleteFrom('verifications')
    .where('identifier', '=', hashName(name))
    .where('expires_at', '>', new Date(at))
    .returning('value')
    .executeTakeFirst();
  return row?.value;
}

/** Adds one to a number, unless that would exceed `most`. @returns whether it did so @param at Unix milliseconds */
export async function countUp(kysely: Kysely<Schema>, at: number, name: string, most: number): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('verifications')
    .set(({ eb, cast, val }) => ({
      value: cast<string>(eb(cast<number>('value', 'integer'), '+', val(1)), 'text'),
      updated_at: new Date(at),
    }))
    .where('identifier', '=', hashName(name))
    .where('expires_at', '>', new Date(at))
    .where(({ eb, cast, val }) => eb(cast<number>('value', 'integer'), '<', val(most)))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function hashName(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
