import { expect, test } from 'vitest';
import type { Job } from './job.ts';
import { createTurns } from './turns.ts';

const jobOf = (party: string): Job => ({
  source: { url: 'http://store.test/', size: 1, party },
  options: null,
  target: null,
  timeLeft: 1000,
  settle: () => undefined,
});

test('whoever comes late is in the next round, behind those who are already there', () => {
  const turns = createTurns();
  const [a1, a2, a3, b1] = ['a', 'a', 'a', 'b'].map(jobOf) as [Job, Job, Job, Job];
  for (const job of [a1, a2, a3]) turns.add(job);
  expect([turns.take(), turns.take()]).toEqual([a1, a2]);
  turns.add(b1);
  expect([turns.take(), turns.take(), turns.take()]).toEqual([a3, b1, undefined]);
});

test('what has to begin again goes first, and takes no turn from its party', () => {
  const turns = createTurns();
  const [a1, a2, b1] = ['a', 'a', 'b'].map(jobOf) as [Job, Job, Job];
  for (const job of [a1, b1]) turns.add(job);
  expect(turns.take()).toBe(a1);
  turns.putBack(a1);
  turns.add(a2);
  expect(turns.clear()).toEqual([a1, b1, a2]);
  expect(turns.length).toBe(0);
});
