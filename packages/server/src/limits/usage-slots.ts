import { randomInt } from 'node:crypto';

// What a project stores is the sum of its slots. Each UTC day has 32 numbers of slots, of which it uses eighteen; slot 0
// has the days that are over. So what changed on a day, and what was recorded on it, can be read from its slots.

export const slotsOfDay = 32;

/** Concurrent recordings mostly hit different slots and seldom wait for each other. */
export const recordingSlots = 16;

/** The slot of a day that counts what is purged. */
export const purgingSlot = 16;

/** The slot of a day that counts nothing: it is there if something else changed (`openDay`). */
const openingSlot = 17;

/** The day of a time: days since 1970 in UTC. @param at Unix milliseconds */
export function toDayNumber(at: number): number {
  return Math.floor(at / 86_400_000);
}

/** The first slot of the day of a time; all earlier days have lower ones. @param at Unix milliseconds */
export function toFirstSlot(at: number): number {
  return toDayNumber(at) * slotsOfDay;
}

/** A slot for files that were recorded at that time. @param at Unix milliseconds */
export function toRecordingSlot(at: number): number {
  return toFirstSlot(at) + randomInt(recordingSlots);
}

/** The slot for files that were purged at that time. @param at Unix milliseconds */
export function toPurgingSlot(at: number): number {
  return toFirstSlot(at) + purgingSlot;
}

/** The slot that says that something changed on the day of that time. @param at Unix milliseconds */
export function toOpeningSlot(at: number): number {
  return toFirstSlot(at) + openingSlot;
}
