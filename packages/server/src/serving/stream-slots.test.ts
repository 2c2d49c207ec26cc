import { expect, test } from 'vitest';
import { Problem } from '../problem.ts';
import { createStreamSlots, type StreamSlot } from './stream-slots.ts';

const never = () => new AbortController().signal;
const kilobyte = 1024;
const minute = 60_000;

/** Slots with a clock that only `pass` moves. */
function open(atOnce: number, longestWait = 0) {
  let at = 0;
  const slots = createStreamSlots(atOnce, 'archives_busy', () => at, longestWait);
  return {
    pass: (milliseconds: number) => {
      at += milliseconds;
    },
    take: (userId: string, projectId = `project of ${userId}`, signal = never()) =>
      slots.take([`user ${userId}`, `project ${projectId}`], signal),
    /** Gives a client a number of bytes at once, and lets it take as long as stated. */
    give(slot: StreamSlot, bytes: number, milliseconds: number) {
      slot.hand(bytes);
      at += milliseconds;
      slot.take();
    },
  };
}

const busy = { code: 'archives_busy', headers: { 'Retry-After': '5' } };

test('one account gets at most half of the slots, and so does one project', async () => {
  const { take } = open(4);
  const first = await take('ada', 'a');
  await take('ada', 'b');
  await expect(take('ada', 'c')).rejects.toMatchObject(busy);
  await expect(take('ada', 'c')).rejects.toBeInstanceOf(Problem);
  await take('bob', 'a');
  await expect(take('eve', 'a')).rejects.toMatchObject(busy);
  await take('eve', 'e');
  await expect(take('kim')).rejects.toMatchObject(busy);
  first.leave();
  first.leave();
  await take('kim');
  await expect(take('joe')).rejects.toMatchObject(busy);
});

test('a waiting request gets the next free slot, and accounts take turns', async () => {
  const { take } = open(2, minute);
  const [ada, bob] = [await take('ada'), await take('bob')];
  const order: string[] = [];
  const wait = (name: string, project?: string) =>
    take(name, project).then((slot) => {
      order.push(name);
      return slot;
    });
  const [again, eve] = [wait('bob', 'another'), wait('eve')];
  // One request may wait for each slot of a share.
  await expect(take('bob', 'a third')).rejects.toMatchObject(busy);
  bob.leave();
  (await eve).leave();
  await again;
  expect(order).toEqual(['eve', 'bob']);
  ada.leave();
});

test('a request that goes away stops waiting', async () => {
  const { take } = open(1, minute);
  const ada = await take('ada');
  const gone = new AbortController();
  const waiting = take('bob', 'b', gone.signal);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  ada.leave();
  await take('eve');
});

test('the slowest reader is cut off for others if it was too slow for a minute', async () => {
  const { take, pass } = open(2);
  const [ada, bob] = [await take('ada'), await take('bob')];
  for (const [slot, bytes] of [
    [ada, 100],
    [bob, 50],
  ] as const) {
    slot.hand(bytes * kilobyte);
    slot.take();
    slot.hand(kilobyte);
  }
  pass(minute - 1);
  await expect(take('eve')).rejects.toMatchObject(busy);
  pass(1);
  const eve = await take('eve');
  expect([ada.lost.aborted, bob.lost.aborted]).toEqual([false, true]);
  expect(String(bob.lost.reason)).toContain('too slow');
  // A slot that was taken away is not released twice.
  bob.leave();
  await take('kim');
  expect(ada.lost.aborted).toBe(true);
  await expect(take('joe')).rejects.toMatchObject(busy);
  expect(eve.lost.aborted).toBe(false);
});

test('a reader is not cut off if it is fast enough, waits for the store, or a slot is free', async () => {
  const { take, give, pass } = open(2);
  const [quick, served] = [await take('ada'), await take('bob')];
  for (let n = 0; n < 60; n += 1) give(quick, 33 * kilobyte, 1000);
  // This reader was given nothing for a long time.
  give(served, kilobyte, 0);
  pass(minute);
  await expect(take('eve')).rejects.toMatchObject(busy);
  expect([quick.lost.aborted, served.lost.aborted]).toEqual([false, false]);

  const roomy = open(4);
  const [idle, other] = [await roomy.take('ada', 'a'), await roomy.take('ada', 'b')];
  for (const slot of [idle, other]) slot.hand(kilobyte);
  roomy.pass(2 * minute);
  await roomy.take('bob', 'b');
  await roomy.take('eve', 'e');
  // Full, but cutting her off would not help: it is her own share that is used up.
  await expect(roomy.take('ada', 'c')).rejects.toMatchObject(busy);
  expect([idle.lost.aborted, other.lost.aborted]).toEqual([false, false]);
});

test('a client that was slow may become fast', async () => {
  const { take, give } = open(1);
  const ada = await take('ada');
  give(ada, kilobyte, minute);
  give(ada, 60 * 1024 * kilobyte, minute);
  await expect(take('eve')).rejects.toMatchObject(busy);
  give(ada, kilobyte, minute);
  await take('eve');
  expect(ada.lost.aborted).toBe(true);
});

test('a request that has waited in vain looks for a slow reader once more before it gives up', async () => {
  const { take, pass } = open(1, 50);
  const ada = await take('ada');
  ada.hand(kilobyte);
  const waiting = take('eve');
  pass(minute);
  await waiting;
  expect(ada.lost.aborted).toBe(true);
});
