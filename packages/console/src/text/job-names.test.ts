import { expect, test } from 'vitest';
import type { JobName } from '../../../server/src/deps.ts';
import { de } from './later-de.ts';
import { en } from './later-en.ts';

/** The compiler says if one of them is missing, or is no more. */
const jobs: Record<JobName, true> = {
  adopt: true,
  audit: true,
  days: true,
  events: true,
  expired: true,
  images: true,
  multiparts: true,
  reconcile: true,
  sweep: true,
  tickets: true,
  tidy: true,
  trash: true,
  variants: true,
  waits: true,
};

test('every job of the service has a name in words', () => {
  expect(Object.keys(en.health.jobNames).sort()).toEqual(Object.keys(jobs));
  expect(Object.keys(de.health.jobNames).sort()).toEqual(Object.keys(jobs));
});
